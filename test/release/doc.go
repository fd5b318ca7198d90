// Package release has what makes and checks a release: goreleaser and krew, by their
// versions in go.mod, and the programs that neither of them has.
package release

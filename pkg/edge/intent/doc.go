// Package intent loads, writes and watches the TidbCluster, which is where the
// user's intent lives.
//
// It never writes a whole object that it has read. The types that this package knows may be older than the CRD that
// is installed. The API types rewrite configuration on its way through: an object becomes TOML text, and unknown
// keys are lost. And defaults that were filled in for reading would become part of what the user wrote. So a change
// is a patch of the fields it is about, and a manifest is applied as the user wrote it.
package intent

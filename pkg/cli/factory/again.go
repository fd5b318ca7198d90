package factory

import (
	"regexp"
	"slices"
	"strings"
)

// Again is the command line that is running, with more flags, for a person to
// paste into a shell. It names the namespace, so that it means the same elsewhere.
func (f *Factory) Again(namespace string, flags ...string) string {
	words := []string{"kubectl tidb"}
	for _, a := range f.Args {
		words = append(words, quote(a))
	}
	if *f.Flags.Namespace == "" && namespace != "" {
		words = append(words, "-n", quote(namespace))
	}
	return strings.Join(append(words, flags...), " ")
}

// With is a factory of the same command line with another value of a flag.
func (f *Factory) With(flag, value string) *Factory {
	other := *f
	other.Args = slices.Clone(f.Args)
	for i, a := range other.Args {
		switch {
		case strings.HasPrefix(a, "--"+flag+"="):
			other.Args[i] = "--" + flag + "=" + value
		case a == "--"+flag && i+1 < len(other.Args):
			other.Args[i+1] = value
		}
	}
	return &other
}

// plain are words that every shell takes as they are.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

func quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

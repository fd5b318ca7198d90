package factory

import (
	"regexp"
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

// plain are words that every shell takes as they are.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

func quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

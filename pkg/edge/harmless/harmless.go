// Package harmless makes texts that others have written harmless. Texts of members of a cluster and of objects of
// Kubernetes can have escape sequences, line breaks and characters that change a line's direction. Such a text must
// not control a terminal, forge a line of a log, or make a document that nobody can read.
package harmless

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"sigs.k8s.io/yaml"
)

// hidden reports whether a reader does not see a character. Such characters are control characters and the category
// Cf, which has the bidi controls.
func hidden(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// nonCharacter reports whether Unicode has reserved a code point for ever, so that YAML does not allow it.
func nonCharacter(r rune) bool { return r&0xfffe == 0xfffe || r >= 0xfdd0 && r <= 0xfdef }

// Line returns a text as one line in which each hidden character is replaced. It keeps everything else, as a command
// in the text must stay what it is.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case hidden(r):
			return '\ufffd'
		}
		return r
	}, s)
}

// JSON returns a JSON text in which hidden characters are escaped. The document stays the same: outside of strings
// JSON has no such characters.
func JSON(text []byte) []byte {
	return replace(text, func(b *strings.Builder, r rune) {
		if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
			return
		}
		fmt.Fprintf(b, `\u%04x`, r)
	})
}

// replace replaces hidden characters of a JSON text. JSON itself escapes those below the blank.
func replace(text []byte, by func(*strings.Builder, rune)) []byte {
	var b strings.Builder
	for _, r := range string(text) {
		if r >= 0x7f && (hidden(r) || nonCharacter(r)) {
			by(&b, r)
			continue
		}
		b.WriteRune(r)
	}
	return []byte(command.ReplaceAllString(b.String(), `$1\u005b`))
}

// command matches what a CI system takes for the beginning of a command, wherever it is in a line. In a JSON text it is
// always in a string, where the bracket can be escaped.
var command = regexp.MustCompile(`(##[a-z]*)\[`)

// YAML returns a value as YAML, in which hidden characters are escaped. The YAML library reads JSON first,
// and does not accept hidden characters there unless they are escaped. The library writes some hidden characters
// without an escape. So each hidden character is replaced by its number between two marks, which the library always
// escapes, and the number becomes the escape afterwards.
func YAML(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	out, err := yaml.JSONToYAML(replace(text, func(b *strings.Builder, r rune) { fmt.Fprintf(b, `\uffff%x\uffff`, r) }))
	if err != nil || bytes.Contains(text, []byte(`uFFFF`)) { // in such a text nobody can tell which marks are ours
		return out, err
	}
	return marked.ReplaceAllFunc(out, func(found []byte) []byte {
		n, _ := strconv.ParseUint(string(marked.FindSubmatch(found)[1]), 16, 32)
		if n > 0xffff {
			return fmt.Appendf(nil, `\U%08X`, n)
		}
		return fmt.Appendf(nil, `\u%04X`, n)
	}), nil
}

// marked matches the number of a character between two marks.
var marked = regexp.MustCompile(`\\uFFFF([0-9a-f]+)\\uFFFF`)

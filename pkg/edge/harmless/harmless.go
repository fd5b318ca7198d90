// Package harmless makes texts that others have written harmless: members of a cluster and objects of Kubernetes can
// have escape sequences, line breaks and characters that change the direction of a line in them. Such a text must
// not control a terminal, forge a line of a log, or make a document that nobody can read.
package harmless

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"sigs.k8s.io/yaml"
)

// hidden reports whether a character is none that a reader sees: a control character, or one of the category Cf,
// which has the bidi controls.
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

// Paragraph returns a text of several lines, each as Line returns it. A line that GitHub Actions would take for a
// command, such as "::error", is broken up.
func Paragraph(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = Line(l)
		if rest := strings.TrimLeft(l, " "); strings.HasPrefix(rest, "::") {
			l = l[:len(l)-len(rest)] + ": :" + rest[2:]
		}
		lines[i] = strings.ReplaceAll(l, "##[", "## [")
	}
	return strings.Join(lines, "\n")
}

// JSON returns a JSON text in which hidden characters are escaped. The document stays the same: outside of strings
// JSON has no such characters.
func JSON(text []byte) []byte {
	return escape(text, func(b *strings.Builder, r rune) {
		high, low := utf16.EncodeRune(r)
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
	})
}

// escape escapes hidden characters. Those that do not fit into one escape of JSON are written by wide.
func escape(text []byte, wide func(*strings.Builder, rune)) []byte {
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case r < 0x7f || !hidden(r) && !nonCharacter(r): // JSON itself escapes those below 0x20
			b.WriteRune(r)
		case r > 0xffff:
			wide(&b, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return []byte(b.String())
}

// YAML returns a value as YAML. The library that makes it reads JSON first. There it does not accept hidden
// characters unless they are escaped, and it does not accept two escapes for one character.
func YAML(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(escape(text, func(b *strings.Builder, r rune) { b.WriteRune(r) }))
}

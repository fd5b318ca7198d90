package report

import (
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// Fold breaks a text at spaces into lines of a width, all but the first with an indent. A name that is longer than a
// line is broken after "-", "." or "/". No other word is broken, so that a line with a long word is longer. With a
// width of 0 the text stays one line.
func Fold(text string, width int, indent string) string {
	if width <= 0 || twwidth.Width(text) <= width {
		return text
	}
	return strings.Join(wrap(text, width, indent), "\n")
}

func wrap(text string, width int, indent string) []string {
	var lines []string
	line := text[:len(text)-len(strings.TrimLeft(text, " "))]
	begun := false
	for _, word := range strings.Fields(text) {
		for i, part := range parts(word, width-len(indent)) {
			gap := " "
			if !begun || i > 0 {
				gap = ""
			}
			if begun && twwidth.Width(line+gap+part) > width {
				lines = append(lines, line)
				line, gap = indent, ""
			}
			line += gap + part
			begun = true
		}
	}
	return append(lines, line)
}

// parts returns the parts into which a word may be broken: itself, if it fits into a line.
func parts(word string, width int) []string {
	if twwidth.Width(word) <= width {
		return []string{word}
	}
	var all []string
	for {
		i := strings.IndexAny(word, "-./") + 1
		if i == 0 || i == len(word) {
			return append(all, word)
		}
		all, word = append(all, word[:i]), word[i:]
	}
}

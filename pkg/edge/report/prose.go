package report

import (
	"io"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// Prose folds a text at its words so that no line is wider than width, and indents each line but the
// first, which keeps its own. A width of 0 or less folds nothing, and a word that is too long stays whole: it may be a part
// of a name to copy.
func Prose(text string, width int, indent string) string {
	if width <= 0 {
		return text
	}
	var b strings.Builder
	used := len(text) - len(strings.TrimLeft(text, " "))
	b.WriteString(text[:used])
	for i, word := range strings.Fields(text) {
		n := twwidth.Width(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString("\n" + indent)
			used = twwidth.Width(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

// Width returns the width of a terminal, and 0 for what is none: a file has lines of any length.
func Width(w io.Writer) int {
	size, terminal := terminalOf(w)
	if !terminal {
		return 0
	}
	width, _ := size()
	return width
}

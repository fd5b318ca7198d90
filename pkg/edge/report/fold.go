package report

import (
	"io"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// Fold breaks a text at spaces into lines of a width, all but the first with an indent. No word is
// broken, so that a line with a long one is longer. With a width of 0 the text stays one line.
func Fold(text string, width int, indent string) string {
	if width <= 0 || twwidth.Width(text) <= width {
		return text
	}
	begin := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var lines []string
	line := begin
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case twwidth.Width(line)+1+twwidth.Width(word) > width:
			lines = append(lines, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// Width returns how wide the terminal is that w writes to, 0 where it is none.
func Width(w io.Writer) int {
	size, terminal := terminalOf(w)
	if !terminal {
		return 0
	}
	width, _ := size()
	return width
}

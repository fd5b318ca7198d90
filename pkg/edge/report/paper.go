package report

import (
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// Paper is a writer of a width, for a text that is written to a terminal later.
type Paper struct {
	io.Writer
	Columns int // 0: no limit
}

// Width returns how wide the terminal is that w writes to, 0 where it is none.
func Width(w io.Writer) int {
	if p, ok := w.(Paper); ok {
		return p.Columns
	}
	size, terminal := terminalOf(w)
	if !terminal {
		return 0
	}
	width, _ := size()
	return width
}

// Say writes a text, folded to the width of w, with an indent.
func Say(w io.Writer, indent, format string, args ...any) {
	fmt.Fprintln(w, Fold(indent+fmt.Sprintf(format, args...), Width(w), indent+"  "))
}

// Advise writes what a person can do: as one line where that fits, else each action on lines of its
// own. Commands are not broken, so that they can be pasted.
func Advise(w io.Writer, indent string, all []remedy.Advice) {
	line, width := indent+remedy.Join(all), Width(w)
	if width <= 0 || twwidth.Width(line) <= width {
		fmt.Fprintln(w, line)
		return
	}
	for _, a := range all {
		line := indent + a.String()
		switch {
		case a.Command == "":
			Say(w, indent, "%s", a.Text)
		case a.Text == "" || twwidth.Width(line) <= width:
			fmt.Fprintln(w, line)
		default:
			Say(w, indent, "%s:", a.Text)
			fmt.Fprintln(w, indent+"  "+a.Command)
		}
	}
}

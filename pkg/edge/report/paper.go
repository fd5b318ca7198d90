package report

import (
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
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
	for i, a := range args {
		switch v := a.(type) { // a member may have written it
		case string:
			args[i] = harmless.Line(v)
		case error:
			args[i] = harmless.Line(v.Error())
		}
	}
	fmt.Fprintln(w, Fold(indent+fmt.Sprintf(format, args...), Width(w), indent+"  "))
}

// Advise writes what a person can do. That is a single line where it fits, else each action on its own lines.
// Commands are not broken, so that they can be pasted.
func Advise(w io.Writer, indent string, all []remedy.Advice) {
	for _, line := range advise(indent, all, Width(w)) {
		fmt.Fprintln(w, harmless.Line(line))
	}
}

// advise returns these lines for a width; 0 for no limit. The first begins with the lead, and all are indented as it
// is. A command that is longer than a line stays a single line. The terminal breaks it, and what is copied from
// there has no line break in it.
func advise(lead string, all []remedy.Advice, width int) []string {
	if line := lead + remedy.Join(all); width <= 0 || twwidth.Width(line) <= width {
		return []string{line}
	}
	var lines []string
	margin := indent(lead)
	for _, a := range all {
		switch line := lead + a.String(); {
		case a.Command == "":
			lines = append(lines, wrap(line, width, margin+"  ")...)
		case a.Text == "" || twwidth.Width(line) <= width:
			lines = append(lines, line)
		default:
			lines = append(lines, wrap(lead+a.Text+":", width, margin+"  ")...)
			lines = append(lines, margin+"  "+a.Command)
		}
		lead = margin + "or "
	}
	return lines
}

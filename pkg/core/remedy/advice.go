package remedy

import "strings"

// Advice is an action as it is shown. The commands are on a single line to paste into a shell, for
// one kubeconfig context.
type Advice struct {
	Text    string `json:"text,omitempty"`
	Command string `json:"command,omitempty"`
}

// String returns the advice as one line.
func (a Advice) String() string {
	if a.Text == "" || a.Command == "" {
		return a.Text + a.Command
	}
	return a.Text + ": " + a.Command
}

// In returns the remedy for a kubeconfig context; "" stands for the current one.
func (r Remedy) In(context string) []Advice {
	var all []Advice
	for _, a := range r {
		lines := make([]string, len(a.Commands))
		for i, c := range a.Commands {
			lines[i] = c.Line(context)
		}
		all = append(all, Advice{Text: a.Text, Command: strings.Join(lines, " && ")})
	}
	return all
}

// Line returns the whole remedy as one line.
func (r Remedy) Line(context string) string { return Join(r.In(context)) }

// Join returns alternatives as one line, "" for none.
func Join(all []Advice) string {
	lines := make([]string, len(all))
	for i, a := range all {
		lines[i] = a.String()
	}
	return strings.Join(lines, "; or ")
}

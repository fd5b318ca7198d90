package document

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/history"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// Format is a kind of document.
type Format string

// The formats.
const (
	JUnit    Format = "junit"
	Markdown Format = "markdown"
	HTML     Format = "html"
)

// Formats returns the names of all formats.
func Formats() []string { return []string{string(JUnit), string(Markdown), string(HTML)} }

// Parse returns the format of a name.
func Parse(name string) (Format, error) {
	if !slices.Contains(Formats(), name) {
		return "", fmt.Errorf("no format %q: it has to be one of %s", name, strings.Join(Formats(), ", "))
	}
	return Format(name), nil
}

// Write writes runs as one document.
func Write(w io.Writer, f Format, runs []history.Run) error {
	var b bytes.Buffer // a document that cannot be made leaves no half of it
	write := map[Format]func(io.Writer, []history.Run) error{JUnit: junit, Markdown: markdown, HTML: html}[f]
	if err := write(&b, runs); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// title names what a run drove, and what was asked for.
func title(r history.Run) string {
	var parts []string
	for _, s := range []string{r.Context, r.Namespace, r.Cluster} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	title := strings.Join(parts, " / ")
	if r.Request != "" {
		title += ", " + r.Request
	}
	return report.Clean(title)
}

// unfinished is how a run without an end is described.
const unfinished = "no end: the process was killed, or it still runs"

// verdict returns how a run ended, what to do next, and how that is meant.
func verdict(r history.Run) (tone report.Tone, text, next string) {
	if r.Outcome == "" {
		return report.Bad, unfinished, "run the same command to go on"
	}
	return report.Ended(r.Outcome, r.Took())
}

// component returns the name of a component for people; "cluster" for the cluster as a whole.
func component(name string) string {
	if name == "" {
		return "cluster"
	}
	return topology.Kind(name).Title()
}

// subject returns what a step or a wait is about.
func subject(kind, member, object string) string {
	s := member
	if s == "" {
		s = component(kind)
	}
	if object != "" {
		s += " (" + object + ")"
	}
	return report.Clean(s)
}

// meaning says what a reason waits for, "" for one that this version does not know.
func meaning(reason string) string {
	for _, m := range plan.Reasons() {
		if string(m.Reason) == reason {
			return m.Text
		}
	}
	return ""
}

// took writes a duration; tenths of a second count where it is short.
func took(d time.Duration) string {
	switch {
	case d < 50*time.Millisecond:
		return "<0.1s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// leftOfWait says how far a wait has come, "" where that is no number.
func leftOfWait(w history.Wait) string {
	if w.First == nil || w.Last == nil {
		return ""
	}
	return fmt.Sprintf("%d to %d %s", *w.First, *w.Last, w.Unit)
}

// part is what a part of a run's time went into.
type part struct {
	Name string
	Took string
}

func parts(s history.Spent) []part {
	return []part{
		{"in steps", took(s.Stepping)},
		{"waiting for Kubernetes", took(s.Kubernetes)},
		{"waiting for the database", took(s.Database)},
		{"other", took(s.Otherwise)},
	}
}

// remaining returns the waits of a run that have not ended. Waits for a person come first, then waits about which a
// person can do something.
func remaining(r history.Run) []history.Wait {
	var blocked, advised, others []history.Wait
	for _, w := range r.Waits {
		switch {
		case w.Status == history.Passed, w.Status == history.Dropped:
		case w.Status == history.Blocked:
			blocked = append(blocked, w)
		case len(w.Remedy) > 0:
			advised = append(advised, w)
		default:
			others = append(others, w)
		}
	}
	return slices.Concat(blocked, advised, others)
}

// unsolved returns the steps of a run that have failed and were not overcome.
func unsolved(r history.Run) []history.Step {
	var all []history.Step
	for _, s := range r.Steps {
		if r.Unsolved(s) {
			all = append(all, s)
		}
	}
	return all
}

// result says what has become of a step, and how often it was tried.
func result(s history.Step) string {
	text := string(s.Result)
	if s.Attempts > 1 {
		text += fmt.Sprintf(", attempt %d", s.Attempts)
	}
	return text
}

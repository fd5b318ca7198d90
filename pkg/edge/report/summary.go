package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// Tone is how a line is meant, for the formats that can colour it.
type Tone int

// The tones.
const (
	neutral Tone = iota
	Good
	Warning
	Bad
	dim
	bold
)

// said is a line with its tone, and what a person can do, which it leads to; mostly nothing.
type said struct {
	tone Tone
	text string
	help []remedy.Advice
}

// line returns it as one line.
func (s said) line() string { return s.text + remedy.Join(s.help) }

// resume is what a person can do after most outcomes.
const resume = "run the same command again to resume"

// outcomes has the text of each outcome, with the duration in place of the %s, and what to do next.
// An outcome that is not in the table is shown as a failure.
var outcomes = map[string]struct {
	tone       Tone
	text, next string
}{
	event.OutcomeConverged:   {Good, "converged in %s", ""},
	event.OutcomeReached:     {Good, "reached in %s", ""},
	event.OutcomeWritten:     {Good, "written; another process carries it out", ""},
	event.OutcomeFailed:      {Bad, "failed after %s", resume},
	event.OutcomeBlocked:     {Bad, "blocked after %s, manual action required", "once that is done, " + resume},
	event.OutcomeTimedOut:    {Warning, "timed out after %s, still progressing", resume},
	event.OutcomePaused:      {Warning, "paused after %s", "once that is lifted, " + resume},
	event.OutcomeCanary:      {Warning, "stopped at the canary after %s", ""},
	event.OutcomeAborted:     {Warning, "aborted after %s", ""},
	event.OutcomeConflict:    {Bad, "another driver holds the cluster", ""},
	event.OutcomeForbidden:   {Bad, "forbidden", "once it is permitted, " + resume},
	event.OutcomeChanges:     {Warning, "changes are pending", ""},
	event.OutcomeUsage:       {Bad, "wrong usage", ""},
	event.OutcomeInterrupted: {Warning, "interrupted after %s, at a safe point", resume},
}

// summary returns how the operation ended, what is still waited for, what was done and what took the time.
func (v *view) summary() []said {
	total := v.last.Sub(v.start)
	if v.end.Seconds > 0 {
		total = seconds(*v.end)
	}
	tone, text, next := Ended(v.end.Outcome, total)
	lines := []said{{tone: tone, text: v.target() + ": " + text}}
	if v.end.Outcome != event.OutcomeConverged {
		lines = append(lines, v.remaining()...)
	}
	if v.end.Error != "" {
		lines = append(lines, said{tone: Bad, text: "error: " + Clean(v.end.Error)})
	}
	if hint := help(*v.end); len(hint) > 0 && remedy.Join(hint) != resume {
		lines = append(lines, said{text: "hint: ", help: hint})
	}
	if s := v.counts(); s != "" {
		lines = append(lines, said{tone: dim, text: s})
	}
	if s := v.division(); s != "" {
		lines = append(lines, said{tone: dim, text: s})
	}
	if next != "" {
		lines = append(lines, said{tone: bold, text: next})
	}
	return lines
}

// Ended returns how a run ended. It returns the tone of that, the words for it, and what a person can do next, if
// anything.
func Ended(outcome string, took time.Duration) (tone Tone, text, next string) {
	o, known := outcomes[outcome]
	if !known {
		o = outcomes[event.OutcomeFailed]
		if s := Clean(outcome); s != "" {
			o.text = s + " after %s"
		}
	}
	return o.tone, strings.Replace(o.text, "%s", exact(took), 1), o.next
}

// remaining lists the gates and failures that are left.
func (v *view) remaining() []said {
	var lines []said
	for _, f := range v.failures {
		lines = append(lines, said{tone: Bad, text: "failed: " + f.phrase()})
	}
	given := map[string]bool{"": true}
	for _, g := range v.alike() {
		t := Warning
		if g.blocked() {
			t = Bad
		}
		lines = append(lines, said{tone: t, text: g.line(v.last)})
		help := g.help(v.last)
		if text := remedy.Join(help); !given[text] {
			given[text] = true
			lines = append(lines, said{text: "  to unblock: ", help: help})
		}
	}
	return lines
}

// counts returns how far the components are, in a short form if all members are ready and updated.
func (v *view) counts() string {
	if len(v.rows) == 0 {
		return ""
	}
	var long, short []string
	settled := true
	for _, r := range v.rows {
		long = append(long, r.title()+" "+r.numbers())
		short = append(short, r.title()+" "+r.Serving())
		settled = settled && r.settled()
	}
	if settled {
		return strings.Join(short, ", ") + " ready and updated"
	}
	return strings.Join(long, "; ")
}

// division returns how many steps were taken and what the time was spent on.
func (v *view) division() string {
	if v.finished == 0 && v.spent.Kubernetes+v.spent.Database < time.Second {
		return ""
	}
	plural := "s"
	if v.finished == 1 {
		plural = ""
	}
	parts := []string{fmt.Sprintf("%d step%s %s", v.finished, plural, exact(v.spent.Stepping))}
	for _, p := range []struct {
		spent time.Duration
		name  string
	}{
		{v.spent.Kubernetes, "waiting for Kubernetes"}, {v.spent.Database, "waiting for the database"},
		{v.spent.Otherwise, "other"},
	} {
		if p.spent >= time.Second {
			parts = append(parts, p.name+" "+exact(p.spent))
		}
	}
	return strings.Join(parts, ", ")
}

// exact returns a duration to the second: rounded to minutes, the parts would not add up to the
// whole.
func exact(d time.Duration) string { return max(d, 0).Round(time.Second).String() }

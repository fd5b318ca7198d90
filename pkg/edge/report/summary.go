package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// tone is how a line is meant, for the formats that can colour it.
type tone int

const (
	neutral tone = iota
	good
	warning
	bad
	dim
	bold
)

// said is a line with its tone.
type said struct {
	tone tone
	text string
}

// resume is what a person can do after most outcomes.
const resume = "run the same command again to resume"

// outcomes has the text of each outcome, with the duration in place of the %s, and what to do next.
// An outcome that is not in the table is shown as a failure.
var outcomes = map[string]struct {
	tone       tone
	text, next string
}{
	event.OutcomeConverged:   {good, "converged in %s", ""},
	event.OutcomeFailed:      {bad, "failed after %s", resume},
	event.OutcomeBlocked:     {bad, "blocked after %s, manual action required", "once that is done, " + resume},
	event.OutcomeTimedOut:    {warning, "timed out after %s, still progressing", resume},
	event.OutcomePaused:      {warning, "paused after %s", "once that is lifted, " + resume},
	event.OutcomeAborted:     {warning, "aborted after %s", ""},
	event.OutcomeConflict:    {bad, "another driver holds the cluster", ""},
	event.OutcomeForbidden:   {bad, "forbidden", "once it is permitted, " + resume},
	event.OutcomeChanges:     {warning, "changes are pending", ""},
	event.OutcomeUsage:       {bad, "wrong usage", ""},
	event.OutcomeInterrupted: {warning, "interrupted after %s, at a safe point", resume},
}

// summary returns how the operation ended, what it still waits for, what it did and what it spent
// its time on.
func (v *view) summary() []said {
	o, known := outcomes[v.end.Outcome]
	if !known {
		o = outcomes[event.OutcomeFailed]
		if s := clean(v.end.Outcome); s != "" {
			o.text = s + " after %s"
		}
	}
	total := v.last.Sub(v.start)
	if v.end.Seconds > 0 {
		total = seconds(*v.end)
	}
	lines := []said{{o.tone, v.target() + ": " + strings.Replace(o.text, "%s", exact(total), 1)}}
	if v.end.Outcome != event.OutcomeConverged {
		lines = append(lines, v.remaining()...)
	}
	if v.end.Error != "" {
		lines = append(lines, said{bad, "error: " + clean(v.end.Error)})
	}
	if help := v.end.Help(); help != "" && help != resume {
		lines = append(lines, said{neutral, "hint: " + clean(help)})
	}
	if s := v.counts(); s != "" {
		lines = append(lines, said{dim, s})
	}
	if s := v.division(); s != "" {
		lines = append(lines, said{dim, s})
	}
	if o.next != "" {
		lines = append(lines, said{bold, o.next})
	}
	return lines
}

// remaining lists the gates and failures that are left.
func (v *view) remaining() []said {
	var lines []said
	for _, f := range v.failures {
		lines = append(lines, said{bad, "failed: " + f.phrase()})
	}
	for _, g := range v.gates {
		t := warning
		if g.blocked() {
			t = bad
		}
		lines = append(lines, said{t, g.word() + ": " + g.text() + " " + g.times(v.last)})
		if help := g.help(v.last); help != "" {
			lines = append(lines, said{neutral, "  to unblock: " + help})
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
		short = append(short, fmt.Sprintf("%s %d/%d", r.title(), r.ready, r.wanted))
		settled = settled && r.settled()
	}
	if settled {
		return strings.Join(short, ", ") + " ready and updated"
	}
	return strings.Join(long, "; ")
}

// division returns how many steps were taken and what the time was spent on.
func (v *view) division() string {
	if v.finished == 0 && v.spent[onKubernetes]+v.spent[onDatabase] < time.Second {
		return ""
	}
	plural := "s"
	if v.finished == 1 {
		plural = ""
	}
	parts := []string{fmt.Sprintf("%d step%s %s", v.finished, plural, exact(v.spent[stepping]))}
	for _, p := range []struct {
		on   activity
		name string
	}{
		{onKubernetes, "waiting for Kubernetes"}, {onDatabase, "waiting for the database"},
		{otherwise, "other"},
	} {
		if d := v.spent[p.on]; d >= time.Second {
			parts = append(parts, p.name+" "+exact(d))
		}
	}
	return strings.Join(parts, ", ")
}

// exact returns a duration to the second: rounded to minutes, the parts would not add up to the
// whole.
func exact(d time.Duration) string { return max(d, 0).Round(time.Second).String() }

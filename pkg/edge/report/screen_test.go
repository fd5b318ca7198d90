package report

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// TestScreenTouchesLittle: a redraw writes only the lines that have changed, those of the spinner
// and the clock, which matters for slow connections.
func TestScreenTouchesLittle(t *testing.T) {
	var b strings.Builder
	clock := &hand{dawn}
	s := newScreen(Options{ErrOut: &b, NoColor: true, Now: clock.now, Heartbeat: time.Minute, Cluster: "basic"})
	for _, e := range upgrade() {
		s.event(e)
	}
	clock.t = dawn.Add(70 * time.Second)
	s.tick(clock.t)
	b.Reset()
	s.tick(clock.t)
	if b.Len() != 0 {
		t.Errorf("nothing changed, but %q was written", b.String())
	}
	s.tick(clock.t.Add(frameEvery))
	if strings.Contains(b.String(), "PD") || !strings.Contains(b.String(), "waiting") {
		t.Errorf("wrote %q", b.String())
	}
}

// TestScreenBecomesNarrow redraws over lines that the terminal has broken.
func TestScreenBecomesNarrow(t *testing.T) {
	width := 80
	var b strings.Builder
	s := newScreen(Options{
		ErrOut: &b, NoColor: true, Now: (&hand{dawn}).now, Heartbeat: time.Minute,
		Size: func() (int, int) { return width, 24 },
	})
	s.event(event.Event{Type: event.Progress, Time: dawn, Component: "tikv", Context: strings.Repeat("c", 60), Cluster: "basic"})
	s.tick(dawn)
	width = 40
	b.Reset()
	s.tick(dawn)
	// Header of 73 columns, row of 30 and the wait: 2+1+1 rows, so 3 up.
	if !strings.HasPrefix(b.String(), "\r\x1b[3A") {
		t.Errorf("wrote %q", b.String())
	}
}

// TestNoColour: not a single colour, in any mode, whatever a server sends.
func TestNoColour(t *testing.T) {
	for _, s := range []stream{converged(), timedOut(), blocked(), crowd()} {
		var b strings.Builder
		play(s, Options{ErrOut: &b, Mode: TTY, NoColor: true}, time.Minute, nil, nil)
		play(s, Options{ErrOut: &b, Mode: Plain}, time.Minute, nil, nil)
		for _, part := range strings.Split(b.String(), "\x1b[")[1:] {
			if end := strings.IndexAny(part, "AJKm"); end < 0 || part[end] == 'm' {
				t.Fatalf("colour in %q", part)
			}
		}
	}
}

// TestOutcomes: each outcome has its text, and an unknown one is not shown as a success.
func TestOutcomes(t *testing.T) {
	var b strings.Builder
	for _, o := range []string{
		event.OutcomeConverged, event.OutcomeFailed, event.OutcomeUsage, event.OutcomeBlocked,
		event.OutcomeTimedOut, event.OutcomePaused, event.OutcomeAborted, event.OutcomeConflict,
		event.OutcomeForbidden, event.OutcomeChanges, event.OutcomeInterrupted, "somethingNew", "",
	} {
		if _, known := outcomes[o]; !known && o != "somethingNew" && o != "" {
			t.Errorf("no words for outcome %s", o)
		}
		v := newView(Options{Now: (&hand{dawn}).now, Context: "prod-eu", Namespace: "tidb", Cluster: "basic"})
		var s stream
		s.done(90*time.Second, o, 1, "what went wrong", remedy.Advice{Text: "what to do"})
		v.fold(s[0])
		b.WriteString("--- " + o + "\n")
		for _, l := range v.summary() {
			b.WriteString(l.line() + "\n")
		}
	}
	golden(t, "outcomes.txt", b.String())
}

// TestFailureIsForgotten: a failed step that is not decided again must not be shown as being tried
// again.
func TestFailureIsForgotten(t *testing.T) {
	v := newView(Options{Now: (&hand{dawn}).now})
	v.fold(event.Event{Type: event.Failed, Time: dawn, Step: "restart basic-pd-0", Error: "conflict"})
	v.fold(event.Event{Type: event.Notice, Time: dawn.Add(forgotten)})
	if len(v.failures) != 1 {
		t.Error("forgotten too early")
	}
	v.fold(event.Event{Type: event.Notice, Time: dawn.Add(forgotten + time.Second)})
	if len(v.failures) != 0 {
		t.Error("not forgotten")
	}
}

package sim

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// transcript is what was done and what was waited for, line by line. Numbers that change during a
// wait are left out.
type transcript struct {
	w     *Model
	begun int64
	lines []string
	open  map[string]bool
}

// Trace starts a transcript.
func (w *Model) Trace() {
	w.transcript = &transcript{w: w, begun: w.t, open: map[string]bool{}}
}

// Transcript returns what was recorded so far.
func (w *Model) Transcript() string {
	return strings.Join(w.transcript.lines, "\n") + "\n"
}

func (w *Model) note(format string, args ...any) {
	if w.transcript != nil {
		w.transcript.add("-- " + fmt.Sprintf(format, args...))
	}
}

func (w *Model) reporter() reconcile.Reporter {
	if w.transcript == nil {
		return silent{w}
	}
	w.transcript.open = map[string]bool{}
	return w.transcript
}

// traced reports to the transcript as soon as there is one. It is for processes that start before
// the transcript does.
type traced struct{ w *Model }

// Report implements reconcile.Reporter.
func (t traced) Report(e event.Event) {
	if t.w.transcript == nil {
		t.w.checkAdvice(e)
		return
	}
	t.w.transcript.Report(e)
}

type silent struct{ w *Model }

func (s silent) Report(e event.Event) { s.w.checkAdvice(e) }

// checkAdvice checks that each gate that needs manual action says what to do.
func (w *Model) checkAdvice(e event.Event) {
	if e.Type == event.Blocked && e.Help() == "" {
		w.broke("advice", "%s", e.Message)
	}
}

func (s *transcript) add(line string) {
	s.lines = append(s.lines, clock(s.w.t-s.begun)+" "+line)
}

// Report implements reconcile.Reporter.
func (s *transcript) Report(e event.Event) {
	s.w.checkAdvice(e)
	key := strings.Join([]string{e.Component, e.Member, e.Object, e.Reason, string(e.Type)}, "/")
	switch e.Type {
	case event.Started:
		s.add(s.w.by() + e.Step)
	case event.Failed:
		s.add("   failed: " + e.Error)
	case event.Waiting, event.Blocked:
		if !s.open[key] {
			s.open[key] = true
			s.add("   " + string(e.Type) + ": " + e.Message)
		}
	case event.Passed:
		delete(s.open, strings.Replace(key, string(event.Passed), string(event.Waiting), 1))
		delete(s.open, strings.Replace(key, string(event.Passed), string(event.Blocked), 1))
	}
}

// by names the engine in a line of the transcript, if two of them run.
func (w *Model) by() string {
	if len(w.drivers) < 2 {
		return ""
	}
	return fmt.Sprintf("engine %d: ", w.owner)
}

// watch does something once, when a condition of a test holds or before a step.
type watch struct {
	when func(*Model) bool
	on   func(step.Step) bool
	do   func()
	done bool
}

// When does something once, as soon as a condition holds.
func (w *Model) When(when func(*Model) bool, do func()) {
	w.watches = append(w.watches, watch{when: when, do: do})
}

// OnStep does something once, just before the first step whose text begins with the given one.
func (w *Model) OnStep(begins string, do func()) {
	w.watches = append(w.watches, watch{
		on: func(s step.Step) bool { return strings.HasPrefix(s.String(), begins) }, do: do,
	})
}

func (x *watch) look(w *Model) {
	if !x.done && x.when != nil && x.when(w) {
		x.done = true
		x.do()
	}
}

func (x *watch) step(_ *Model, s step.Step) {
	if !x.done && x.on != nil && x.on(s) {
		x.done = true
		x.do()
	}
}

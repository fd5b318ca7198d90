package sim

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// transcript is what was done, and what was waited for. Numbers that change while one
// waits are left out.
type transcript struct {
	w     *World
	begun int64
	lines []string
	open  map[string]bool
}

// Tell starts a transcript.
func (w *World) Tell() {
	w.story = &transcript{w: w, begun: w.t, open: map[string]bool{}}
}

// Transcript returns what was recorded so far.
func (w *World) Transcript() string {
	return strings.Join(w.story.lines, "\n") + "\n"
}

func (w *World) note(format string, args ...any) {
	if w.story != nil {
		w.story.add("-- " + fmt.Sprintf(format, args...))
	}
}

func (w *World) reporter() reconcile.Reporter {
	if w.story == nil {
		return silent{w}
	}
	w.story.open = map[string]bool{}
	return w.story
}

// telling reports to the transcript, once there is one, for processes that start before
// it does.
type telling struct{ w *World }

// Report implements reconcile.Reporter.
func (t telling) Report(e event.Event) {
	if t.w.story == nil {
		t.w.checkAdvice(e)
		return
	}
	t.w.story.Report(e)
}

type silent struct{ w *World }

func (s silent) Report(e event.Event) { s.w.checkAdvice(e) }

// checkAdvice checks that each gate that needs manual action says what to do.
func (w *World) checkAdvice(e event.Event) {
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

// by names which of two engines it is.
func (w *World) by() string {
	if len(w.drivers) < 2 {
		return ""
	}
	return fmt.Sprintf("engine %d: ", w.owner)
}

// watch does something once, at a moment that a test is waiting for.
type watch struct {
	when func(*World) bool
	on   func(plan.Step) bool
	do   func()
	done bool
}

// When has something happen as soon as a condition holds.
func (w *World) When(when func(*World) bool, do func()) {
	w.watches = append(w.watches, watch{when: when, do: do})
}

// OnStep lets something happen just before the first step whose text begins so.
func (w *World) OnStep(begins string, do func()) {
	w.watches = append(w.watches, watch{
		on: func(s plan.Step) bool { return strings.HasPrefix(s.String(), begins) }, do: do,
	})
}

func (x *watch) look(w *World) {
	if !x.done && x.when != nil && x.when(w) {
		x.done = true
		x.do()
	}
}

func (x *watch) step(_ *World, s plan.Step) {
	if !x.done && x.on != nil && x.on(s) {
		x.done = true
		x.do()
	}
}

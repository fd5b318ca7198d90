package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// patient is how long a person waits who knows that others have made changes.
const patient = 30 * time.Minute

// watching is how often people look who replace pods themselves.
const watching = 10 * time.Minute

// lasting is how long people let an engine run that reports the same as the engine before. No wait
// of a single process lasts longer without an end.
const lasting = plan.Moving + 15*time.Minute

// poll is how often the engine looks, in seconds.
const poll = 5

// Settle drives until the cluster has converged and stays so. It reports what
// prevents that as a violation.
func (w *Model) Settle(most time.Duration) {
	if w.Daemons > 0 {
		w.settleDaemons(most)
		return
	}
	said, again := "", false
	for late := w.t + int64(most/time.Second); ; {
		p, err := w.Drive(min(w.attention(again), time.Duration(late-w.t)*time.Second))
		if err == nil && p.Outcome == plan.Converged {
			if !w.turningTombstone() {
				break
			}
			w.Pass(tombstoneTime)
			continue
		}
		again = said == firstGate(p)
		said = firstGate(p)
		if w.t >= late {
			w.broke("stuck", "%s, %v", gates(p), err)
			return
		}
		// It gave up or is blocked: the user reads why, and runs it again.
		w.Pass(60)
		w.obey(p)
		w.nameUnfit()
		if w.needsPerson() {
			w.help()
		}
	}
	w.rest()
	for range 6 {
		w.Pass(30)
		seen, _ := w.Observe(context.Background(), true)
		wanted := w.view.wanted
		if p := plan.Decide(component.Profiles(), w.policy(), wanted, seen.Snapshot); p.Outcome != plan.Converged {
			w.broke("restless", "%v %s", p.Steps, gates(p))
			return
		}
	}
}

// attention is how long a person lets an engine run until the next look.
func (w *Model) attention(again bool) time.Duration {
	switch {
	case !w.watched() && !w.needsPerson():
		return never
	case again:
		return lasting
	case w.watched():
		return watching
	}
	return patient
}

// watched: with OnDelete a person looks at the screen and deletes pods.
func (w *Model) watched() bool {
	return w.Intent.Manual != [components]bool{}
}

// firstGate returns what a plan waits for first. Which components come after that says nothing.
func firstGate(p plan.Plan) string {
	if len(p.Gates) == 0 {
		return p.Outcome.String()
	}
	return p.Outcome.String() + "; " + p.Gates[0].String()
}

func gates(p plan.Plan) string {
	s := p.Outcome.String()
	for _, g := range p.Gates {
		s += "; " + g.String()
	}
	return s
}

func clock(t int64) string { return fmt.Sprintf("%02d:%02d", t/60, t%60) }

func (w *Model) clock() string { return clock(w.t) }

package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
)

// patient is how long a person watches who knows that others have meddled.
const patient = 30 * time.Minute

// watching is how often people look who replace pods themselves.
const watching = 10 * time.Minute

// poll is how often the engine looks, in seconds.
const poll = 5

// Settle drives until the cluster has converged and stays so. It reports what
// prevents that as a violation.
func (w *World) Settle(most time.Duration) {
	if w.Daemons > 0 {
		w.settleDaemons(most)
		return
	}
	for late := w.t + int64(most/time.Second); ; {
		left := time.Duration(late-w.t) * time.Second
		if w.meddled() {
			left = min(left, patient)
		}
		if w.watched() {
			left = min(left, watching)
		}
		p, err := w.Drive(left)
		if err == nil && p.Outcome == plan.Converged {
			break
		}
		if w.t >= late {
			w.broke("stuck", "%s, %v", gates(p), err)
			return
		}
		// Given up or blocked: the user looks, and runs it again.
		w.Pass(60)
		w.obey(p)
		if w.meddled() {
			w.help()
		}
	}
	w.rest()
	for range 6 {
		w.Pass(30)
		seen, _ := w.Observe(context.Background(), true)
		wanted := w.view.wanted
		wanted.Policy = w.policy()
		if p := plan.Decide(component.Profiles(), wanted, seen.Snapshot); p.Outcome != plan.Converged {
			w.broke("restless", "%v %s", p.Steps, gates(p))
			return
		}
	}
}

// watched: with OnDelete a person looks at the screen and deletes pods.
func (w *World) watched() bool {
	return w.Intent.Manual != [3]bool{}
}

func gates(p plan.Plan) string {
	s := p.Outcome.String()
	for _, g := range p.Gates {
		s += "; " + g.String()
	}
	return s
}

func clock(t int64) string { return fmt.Sprintf("%02d:%02d", t/60, t%60) }

func (w *World) clock() string { return clock(w.t) }

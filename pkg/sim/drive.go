package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/reconcile"
)

var (
	errStopped = errors.New("interrupted")
	errLate    = errors.New("out of simulated time")
)

// patient is how long a person looks on who knows that others have meddled.
const patient = 30 * time.Minute

// poll is how often the engine looks, in seconds.
const poll = 5

// Drive runs a fresh engine until it ends by itself or the given time is over.
func (w *World) Drive(most time.Duration) (plan.Plan, error) {
	ctx, abort := context.WithCancelCause(context.Background())
	defer abort(nil)
	w.dead, w.abort, w.late = false, abort, w.t+int64(most/time.Second)
	w.runs++
	engine := reconcile.Engine{
		Profiles: component.Profiles(), Observer: w, Actor: w, Recorder: w,
		Story: reconcile.NewStory(w.cluster.Namespace, w.cluster.Name, w.Now, w.reporter()),
	}
	p, err := reconcile.Run(ctx, engine, pacer{w})
	w.dead, w.abort, w.late = false, nil, never
	if err != nil {
		w.note("the engine ends: %v", err)
	} else {
		w.note("the engine ends: %s", p.Outcome)
	}
	return p, err
}

// pacer implements reconcile.Waiter on simulated time.
type pacer struct{ w *World }

func (p pacer) Wait(ctx context.Context, _ plan.Plan, _ error) error {
	w := p.w
	w.Pass(int(w.between(poll, 3*poll)))
	switch {
	case w.chance(w.Faults.Stop):
		w.abort(errStopped)
	case w.chance(w.Faults.Kill):
		w.kill()
	}
	return ctx.Err()
}

// kill ends the engine as kill -9 would: it cannot clean up.
func (w *World) kill() {
	w.note("fault: the engine is killed")
	w.dead = true
	w.abort(errKilled)
}

// Stop interrupts the engine, as the user would.
func (w *World) Stop() { w.abort(errStopped) }

// Settle drives until the cluster has converged and stays so. It reports what
// prevents that as a violation.
func (w *World) Settle(most time.Duration) {
	for late := w.t + int64(most/time.Second); ; {
		left := time.Duration(late-w.t) * time.Second
		if w.Faults.Kubectl > 0 {
			left = min(left, patient)
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
		if w.Faults.Kubectl > 0 {
			w.help()
		}
	}
	w.rest()
	for range 6 {
		w.Pass(30)
		wanted, snap, _ := w.Observe(context.Background(), true)
		if p := plan.Decide(component.Profiles(), wanted, snap); p.Outcome != plan.Converged {
			w.broke("restless", "%v %s", p.Steps, gates(p))
			return
		}
	}
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

package drive

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

const (
	// reacts is how long an operator may do nothing while there is something to do before that is reported. An
	// operator looks at each cluster every half minute.
	reacts = time.Minute
	// idles is how long an operator may do nothing before the run ends. It is longer than its
	// longest pause after a failure, which is 100 s.
	idles = 5 * time.Minute
)

// reaction is the observer and the waiter of a run that follows a tidb-operator. Changes are the
// best evidence that an operator drives a cluster, so it observes whether anything changes while
// there is something to do.
type reaction struct {
	reconcile.Observer
	reconcile.Waiter
	progress *reconcile.Progress
	now      func() time.Time
	who      string
	advice   remedy.Remedy

	seen     string    // the trace of the last turn
	marks    marks     // the marks of the last turn
	since    time.Time // since when nothing has changed, zero while nothing is to be done
	reported bool
}

// Observe implements reconcile.Observer.
func (r *reaction) Observe(ctx context.Context, live bool) (state.Observation, error) {
	o, err := r.Observer.Observe(ctx, live)
	if err == nil && ctx.Err() == nil {
		r.marks = marksIn(o.Snapshot)
		if now := trace(o.Cluster, o.Snapshot); now != r.seen {
			r.seen, r.since = now, time.Time{}
		}
	}
	return o, err
}

// Wait implements reconcile.Waiter.
func (r *reaction) Wait(ctx context.Context, p plan.Plan, err error) error {
	s := r.marks.undone(p)
	switch {
	case err != nil:
	case s == nil:
		r.since = time.Time{} // a wait of the cluster itself says nothing about the operator
	case r.since.IsZero():
		r.since = r.now()
	case r.now().Sub(r.since) >= idles:
		return remedy.For(exit.Refusef("%s", r.idle(idles, s)), r.advice...)
	case r.now().Sub(r.since) >= reacts && !r.reported:
		r.reported = true
		r.progress.Notice(event.OperatorIdle, r.idle(reacts, s), r.advice...)
	}
	return r.Waiter.Wait(ctx, p, err)
}

func (r *reaction) idle(d time.Duration, s step.Step) string {
	return fmt.Sprintf("%s has changed nothing for %s, though there is something to do (%s)", r.who, d, s)
}

// marks are the pods of stores that tidb-operator evicts region leaders from, and of captures that it drains.
type marks map[string]bool

func marksIn(s state.Snapshot) marks {
	out := marks{}
	for _, g := range s.Groups {
		for _, m := range g.Members {
			if m.Pod.HandledByOperator() {
				out[m.Name] = true
			}
		}
	}
	return out
}

// undone returns the first step of a plan that the operator should take, nil when there is none. A
// step that takes over an eviction or a drain does not count: the operator continues them itself.
func (k marks) undone(p plan.Plan) step.Step {
	if p.Outcome != plan.Act {
		return nil
	}
	for _, s := range p.Steps {
		_, member := s.Target()
		switch s.(type) {
		case step.AdoptEviction, step.EvictLeaders, step.AdoptDrain, step.DrainCapture:
			if k[member] {
				continue
			}
		}
		return s
	}
	return nil
}

// trace returns what a driver changes, as text: it differs when a driver has done something.
func trace(c topology.Cluster, s state.Snapshot) string {
	var b strings.Builder
	if c.Source != nil {
		b.WriteString(c.Source.ResourceVersion) // which also changes with its status
	}
	for _, k := range topology.Kinds() {
		got := s.Groups[k]
		fmt.Fprintf(&b, ";%s %s %d %d %s %t", k, got.Set.UID, got.Set.Replicas, got.Set.Partition, got.Set.UpdateRevision, got.Set.Observed)
		for _, m := range got.Members {
			b.WriteString("," + progress(m))
		}
	}
	return b.String()
}

// progress returns what a driver changes of a member, as text. PD moves leaders and regions all the time to balance
// its stores, without any driver. So their numbers count only for a store that a driver evicts or removes.
func progress(m state.Member) string {
	d, pod, mark := m.Database, "", false
	if m.Pod != nil {
		pod, mark = m.Pod.UID, m.Pod.HandledByOperator()
	}
	out := fmt.Sprintf("%s %t %t %s", pod, mark, d.Evicting, d.State)
	if removed := d.State == state.StoreOffline; removed || mark || d.Evicting {
		out += fmt.Sprintf(" %d %d", d.Leaders, d.Regions)
	}
	return out
}

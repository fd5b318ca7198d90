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
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

const (
	// reacts is how long an operator may do nothing while there is something to
	// do, before the user reads it: it looks at each cluster every half minute.
	reacts = time.Minute
	// idles is how long it may go on like that. Longer than its longest pause
	// after a failure, which is 100 s.
	idles = 5 * time.Minute
)

// reaction is the observer and the waiter of a run that follows a tidb-operator.
// The best evidence of who drives a cluster is who does something: it finds out
// whether anything changes while there is something to do.
type reaction struct {
	reconcile.Observer
	reconcile.Waiter
	progress *reconcile.Progress
	now      func() time.Time
	who      string
	advice   remedy.Remedy

	seen  string    // what the last turn saw
	marks marks     // as the last turn saw them
	since time.Time // since when nothing has changed, zero while nothing is to be done
	told  bool
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
	step := r.marks.undone(p)
	switch {
	case err != nil:
	case step == nil:
		r.since = time.Time{} // what it waits for itself is no sign of anything
	case r.since.IsZero():
		r.since = r.now()
	case r.now().Sub(r.since) >= idles:
		return remedy.For(exit.Refusef("%s", r.idle(idles, step)), r.advice...)
	case r.now().Sub(r.since) >= reacts && !r.told:
		r.told = true
		r.progress.Notice(event.OperatorIdle, r.idle(reacts, step), r.advice...)
	}
	return r.Waiter.Wait(ctx, p, err)
}

func (r *reaction) idle(d time.Duration, step plan.Step) string {
	return fmt.Sprintf("%s has changed nothing for %s, though there is something to do (%s)", r.who, d, step)
}

// marks are the pods of stores that tidb-operator evicts region leaders from.
type marks map[string]bool

func marksIn(s state.Snapshot) marks {
	out := marks{}
	for _, g := range s.Groups {
		for _, m := range g.Members {
			if m.Pod != nil && !m.Pod.EvictionBegun.IsZero() {
				out[m.Name] = true
			}
		}
	}
	return out
}

// undone is the first step of a plan that the operator ought to take, nil when there
// is none. That we would take over an eviction, had we to drive the cluster, is no
// sign that the operator does nothing: it goes on with that eviction itself.
func (k marks) undone(p plan.Plan) plan.Step {
	if p.Outcome != plan.Act {
		return nil
	}
	for _, s := range p.Steps {
		_, member := s.Target()
		switch s.(type) {
		case plan.AdoptEviction, plan.EvictLeaders:
			if k[member] {
				continue
			}
		}
		return s
	}
	return nil
}

// trace is what a driver changes: it differs when one has done something.
func trace(c topology.Cluster, s state.Snapshot) string {
	var b strings.Builder
	if c.Source != nil {
		b.WriteString(c.Source.ResourceVersion) // of its status as well
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

// progress is what a driver changes of a member. PD moves leaders and regions all the
// time to balance its stores, without any driver: they count where a driver has them
// moved, from a store that it evicts or removes.
func progress(m state.Member) string {
	d, pod, mark := m.Database, "", false
	if m.Pod != nil {
		pod, mark = m.Pod.UID, !m.Pod.EvictionBegun.IsZero()
	}
	out := fmt.Sprintf("%s %t %t %s", pod, mark, d.Evicting, d.State)
	if removed := d.State == state.StoreOffline; removed || mark || d.Evicting {
		out += fmt.Sprintf(" %d %d", d.Leaders, d.Regions)
	}
	return out
}

package drive

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// An operator that evicts or removes a store for hours counts as active as long as PD moves its
// leaders or regions, and so does one that has marked the pod of the store.
func TestReactionToSlowWork(t *testing.T) {
	const store = "t-tikv-0"
	scale := step.Resize{Component: topology.TiDB, From: 2, To: 3}
	adopt := step.AdoptEviction{Member: store}
	for name, tt := range map[string]struct {
		begin func(*state.Member)
		turn  func(*state.Member)
		steps []step.Step
		ends  bool
	}{
		"evicts, leaders go": {
			begin: func(m *state.Member) { m.Database.Evicting = true },
			turn:  func(m *state.Member) { m.Database.Leaders-- }, steps: []step.Step{scale},
		},
		"removes, regions go": {
			begin: func(m *state.Member) { m.Database.State = state.StoreOffline },
			turn:  func(m *state.Member) { m.Database.Regions-- }, steps: []step.Step{scale},
		},
		"PD moves leaders to balance its stores": {
			turn: func(m *state.Member) { m.Database.Leaders--; m.Database.Regions++ }, steps: []step.Step{scale}, ends: true,
		},
		"has marked the pod": {
			begin: func(m *state.Member) { m.Pod.EvictionBegun = plantest.Now }, steps: []step.Step{adopt},
		},
		"has marked the pod, and PD has no scheduler yet": {
			begin: func(m *state.Member) { m.Pod.EvictionBegun = plantest.Now }, steps: []step.Step{step.EvictLeaders{Member: store}},
		},
		"has marked the pod, something else is to be done": {
			begin: func(m *state.Member) { m.Pod.EvictionBegun = plantest.Now }, steps: []step.Step{adopt, scale}, ends: true,
		},
		"drains a capture": {
			begin: func(m *state.Member) { m.Pod.DrainBegun = plantest.Now },
			steps: []step.Step{step.AdoptDrain{Member: store}, step.DrainCapture{Member: store}},
		},
		"drains nothing that is to be drained": {steps: []step.Step{step.DrainCapture{Member: store}}, ends: true},
		"evicts nothing that is to be evicted": {steps: []step.Step{step.EvictLeaders{Member: store}}, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			now, h, c := plantest.Now, &heard{}, plantest.New(1, 1, 1)
			if tt.begin != nil {
				tt.begin(c.Member(store))
			}
			r := &reaction{
				Observer: seeing{c}, Waiter: seeing{c}, progress: h.progress(func() time.Time { return now }),
				now: func() time.Time { return now }, who: "op", advice: remedy.Remedy{remedy.Say("give --take-over")},
			}
			var err error
			for range 20 {
				now = now.Add(30 * time.Second)
				if tt.turn != nil {
					tt.turn(c.Member(store))
				}
				_, _ = r.Observe(t.Context(), false)
				if err = r.Wait(t.Context(), plan.Plan{Outcome: plan.Act, Steps: tt.steps}, nil); err != nil {
					break
				}
			}
			if (err != nil) != tt.ends || (len(h.all()) > 0) != tt.ends {
				t.Errorf("got %v, notices %q", err, h.all())
			}
		})
	}
}

// A store that becomes Offline, and then a tombstone, shows that the operator is active.
func TestTraceOfStoreState(t *testing.T) {
	c := plantest.New(1, 1, 1)
	seen := map[string]bool{}
	for _, s := range []state.StoreState{state.StoreUp, state.StoreOffline, state.StoreTombstone} {
		c.Member("t-tikv-0").Database.State = s
		seen[trace(c.Wanted.Cluster, c.Seen)] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d traces of three states", len(seen))
	}
}

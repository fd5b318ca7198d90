package forecast_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/forecast"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// numberings returns the ordinals and the slots of a component after each change of its StatefulSet.
func numberings(f forecast.Forecast, k topology.Kind) []string {
	var all []string
	for _, s := range f.Steps {
		if r, is := s.Step.(step.Resize); is && r.Component == k {
			o := topology.Ordinals{Count: r.To, Slots: r.SlotsTo}
			all = append(all, fmt.Sprint(o.All(), o.Slots))
		}
	}
	return all
}

// TestSlots: members leave and come as the slots say, one at a time. A member is added before another one leaves.
func TestSlots(t *testing.T) {
	for _, tt := range []struct {
		name     string
		has      []int // slots of the StatefulSet
		replicas int   // wanted
		slots    []int // wanted
		want     []string
		leaves   []string // the ordinals that leave, in this order
	}{
		{"a member leaves", nil, 4, []int{1}, []string{"[0 2 3 4] [1]"}, []string{"1"}},
		{"the highest one leaves as well", nil, 3, []int{1}, []string{"[0 1 2 3] []", "[0 2 3] [1]"}, []string{"4", "1"}},
		{"a member moves", nil, 5, []int{1}, []string{"[0 1 2 3 4 5] []", "[0 2 3 4 5] [1]"}, []string{"1"}},
		{
			"two members move", nil, 5, []int{0, 1},
			[]string{"[0 1 2 3 4 5] []", "[0 1 2 3 4 5 6] []", "[0 2 3 4 5 6] [1]", "[2 3 4 5 6] [0 1]"},
			[]string{"0", "1"},
		},
		{"a slot is taken back", []int{1}, 5, nil, []string{"[0 1 2 3 4 5] []", "[0 1 2 3 4] []"}, []string{"5"}},
		{"more members, beside a slot", []int{1}, 6, []int{1}, []string{"[0 2 3 4 5 6] [1]"}, nil},
		{"another slot", []int{1}, 5, []int{2}, []string{"[0 1 2 3 4 5] []", "[0 1 3 4 5] [2]"}, []string{"2"}},
		{"a slot above all", []int{1}, 4, []int{1, 9}, []string{"[0 2 3 4] [1 9]"}, []string{"5"}},
		{"nothing but a slot above all", nil, 5, []int{9}, nil, nil},
	} {
		for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
			c := plantest.New(5, 5, 5).Numbered(topology.Ordinals{Slots: tt.has})
			for i := range c.Wanted.Groups {
				c.Wanted.Groups[i].Slots = tt.has
			}
			c.Wanted.Cluster.Advanced = true
			c.Want(k).Replicas, c.Want(k).Slots = tt.replicas, tt.slots
			f := of(c)
			if got := numberings(f, k); f.Last.Outcome != plan.Converged || !slices.Equal(got, tt.want) {
				t.Errorf("%s, %s: %s: got %q, want %q:\n%s", tt.name, k, f.Last.Outcome, got, tt.want, strings.Join(texts(f), "\n"))
			}
			for _, n := range tt.leaves {
				text := "mark " + k.DataVolume() + "-t-" + string(k) + "-" + n + " as left over"
				if all := strings.Join(texts(f), "\n"); k.Data() != topology.None && !strings.Contains(all, text) {
					t.Errorf("%s, %s: the claims of %s are not marked:\n%s", tt.name, k, n, all)
				}
			}
		}
	}
}

// TestSlotsOneAtATime: a member that comes back below others is waited for before the next one comes.
func TestSlotsOneAtATime(t *testing.T) {
	c := plantest.New(3, 4, 2).Numbered(topology.Ordinals{Slots: []int{0, 1}})
	c.Wanted.Cluster.Advanced = true
	for i := range c.Wanted.Groups {
		c.Wanted.Groups[i].Slots = []int{0, 1}
	}
	c.Want(topology.TiKV).Slots = nil
	c.Want(topology.TiKV).Replicas = 6
	g := c.Seen.Groups[topology.TiKV]
	g.Set.Replicas, g.Set.Slots, g.Set.Partition = 5, []int{1}, 6
	back := g.Members[0]
	back.Ordinal, back.Name, back.Claims = 0, "t-tikv-0", nil
	back.Pod = &state.Pod{UID: "back", Since: plantest.Now, Made: plantest.Now}
	back.Database = state.Database{Presence: state.Absent}
	g.Members = append([]state.Member{back}, g.Members...)
	c.Seen.Groups[topology.TiKV] = g
	p := c.Decide()
	for _, s := range p.Steps {
		if r, is := s.(step.Resize); is && r.Component == topology.TiKV {
			t.Errorf("t-tikv-0 has not joined, and the next member comes: %v", r)
		}
	}
}

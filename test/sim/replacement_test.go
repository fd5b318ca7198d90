package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestReplacement: members of each component with data get new volumes, one at a time, and the cluster is as large as
// before. A spare store is there meanwhile where the others would be too few.
func TestReplacement(t *testing.T) {
	for _, c := range []struct {
		name  string
		tikv  int
		spare bool
		names []string
	}{
		{"a store of four", 4, false, []string{"basic-tikv-1"}},
		{"all stores of four", 4, false, []string{"basic-tikv-0", "basic-tikv-1", "basic-tikv-2", "basic-tikv-3"}},
		{"all stores of three, with a spare one", 3, true, []string{"basic-tikv-0", "basic-tikv-1", "basic-tikv-2"}},
		{"all of PD", 3, false, []string{"basic-pd-0", "basic-pd-1", "basic-pd-2"}},
		{"PD and stores", 4, false, []string{"basic-pd-2", "basic-tikv-3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := New(Options{Seed: 1, PD: 3, TiKV: c.tikv, TiDB: 2})
			w.Trace()
			w.Settle(time.Hour)
			before := map[string]string{}
			for _, name := range c.names {
				k, i, _ := w.member(name)
				before[name] = w.claims[kindOf(k)][i].uid
				w.Replace(name, c.spare)
			}
			w.Settle(6 * time.Hour)
			for name, uid := range before {
				k, i, _ := w.member(name)
				if c := w.claims[kindOf(k)][i]; c == nil || c.uid == uid {
					t.Errorf("%s has its old claim", name)
				}
			}
			if s := w.Soft; s.Restarts > 0 || s.WithLeaders > 0 || s.LeaderMoves > 1 {
				t.Errorf("%+v", s)
			}
			for _, v := range w.Broken {
				t.Error(v)
			}
			if n := w.sets[kindOf(topology.TiKV)].spec.replicas; n != c.tikv {
				t.Errorf("%d stores", n)
			}
			if t.Failed() {
				t.Log(w.Transcript())
			}
		})
	}
}

// TestServersWithNewVolumes: members without data get volumes of another class and of a smaller size. They restart one at a
// time, captures without tables, and each restarts once.
func TestServersWithNewVolumes(t *testing.T) {
	w := New(Options{Seed: 1, PD: 3, TiKV: 3, TiDB: 3, TiProxy: 2, TiCDC: 2, Feeds: 4, ServerVolumes: true})
	w.Trace()
	w.Settle(time.Hour)
	before := map[string]string{}
	for _, k := range withoutData() {
		w.Intent.Class[k], w.Intent.Size[k] = 1, defaultSize/2
		for i := range w.Intent.Replicas[k] {
			before[w.names[k][i]] = w.claims[k][i].uid
			w.Replace(w.names[k][i], false)
		}
	}
	w.Settle(6 * time.Hour)
	for name, uid := range before {
		k, i, _ := w.member(name)
		if c := w.claims[kindOf(k)][i]; c == nil || c.uid == uid || c.class != 1 || c.capacity != defaultSize/2 {
			t.Errorf("%s has the claim %+v", name, c)
		}
	}
	if s := w.Soft; s.Restarts != len(before) || s.Needless > 0 {
		t.Errorf("%+v", s)
	}
	for _, v := range w.Broken {
		t.Error(v)
	}
	if t.Failed() {
		t.Log(w.Transcript())
	}
}

// TestReplacementCalledOff: a store that is leaving comes back with the data that it has.
func TestReplacementCalledOff(t *testing.T) {
	w := New(Options{Seed: 1, PD: 3, TiKV: 4, TiDB: 1})
	w.Trace()
	w.Settle(time.Hour)
	uid := w.claims[tikv][1].uid
	w.Replace("basic-tikv-1", false)
	for w.ownStore(1) != nil && w.ownStore(1).state != state.StoreOffline {
		w.Drive(8 * time.Second)
	}
	if w.ownStore(1) == nil {
		t.Fatal("it has left")
	}
	w.replaced = nil
	w.Settle(time.Hour)
	if c := w.claims[tikv][1]; c == nil || c.uid != uid || len(w.Broken) > 0 {
		t.Error(c, w.Broken)
	}
}

// The replacement of a server is called off when its claim is being deleted already. The user asks for larger volumes,
// and the server has such a one without a restart. (seed 302602216)
func TestReplacementCalledOffTooLate(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 2, ServerVolumes: true})
	w.claims[tidb][1].marked, w.claims[tidb][1].goneAt = true, w.t
	w.Resize(topology.TiDB, 12)
	fine(t, w)
	inOrder(t, w, "take the mark off tidb-log-basic-tidb-1", "grow volume tidb-log-basic-tidb-1 from 10Gi to 12Gi")
	if w.Soft.Restarts > 0 {
		t.Error(w.Transcript())
	}
}

// TestLostNode: the node of members with local volumes is lost and deleted. The members get new volumes elsewhere when a
// user names them. Members of PD that are given up get some as well, and the cluster has as many members as before.
func TestLostNode(t *testing.T) {
	for _, c := range []struct {
		pd, tikv int
		names    []string
		asked    bool
	}{
		{3, 4, []string{"basic-tikv-1"}, true},
		{3, 4, []string{"basic-pd-1"}, true},
		{3, 4, []string{"basic-pd-1"}, false},
		{5, 3, []string{"basic-pd-1", "basic-pd-3"}, true},
	} {
		w := New(Options{Seed: 1, PD: c.pd, TiKV: c.tikv, TiDB: 2, Failover: !c.asked})
		w.Trace()
		w.Settle(time.Hour)
		before := map[string]string{}
		for _, name := range c.names {
			component, i, _ := w.member(name)
			k := kindOf(component)
			before[name] = w.claims[k][i].uid
			w.loseForGood(k, i)
			w.claims[k][i].noNode, w.pods[k][i] = true, nil
		}
		w.Pass(60)
		for _, name := range c.names {
			if component, i, _ := w.member(name); w.pods[kindOf(component)][i].ran {
				t.Fatalf("%s does not wait for a node", name)
			}
			if c.asked {
				w.Replace(name, false)
			}
		}
		w.Settle(3 * time.Hour)
		for name, uid := range before {
			component, i, _ := w.member(name)
			if got := w.claims[kindOf(component)][i]; got == nil || got.uid == uid {
				t.Errorf("%s, asked for %t: claim %+v", name, c.asked, got)
			}
		}
		if n := w.sets[pd].spec.replicas; n != c.pd || len(w.Broken) > 0 {
			t.Errorf("%v, asked for %t: %d members of PD, %v\n%s", c.names, c.asked, n, w.Broken, w.Transcript())
		}
	}
}

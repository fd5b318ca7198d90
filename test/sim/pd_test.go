package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Without a quorum PD answers nothing, and only the new template can bring it back.
func TestBrokenPD(t *testing.T) {
	for _, members := range []int{1, 3} {
		for _, flaw := range []string{deaf, crashing, noImage, refused} {
			w := New(Options{PD: members, TiKV: 3, TiDB: 1, KeepStuck: true})
			w.Trace()
			w.Upgrade("v1-" + flaw)
			_, _ = w.Drive(time.Hour)
			w.Upgrade("v1")
			fine(t, w)
		}
	}
}

// pd-B1, pd-B18: a template that breaks all of PD at once is what tidb-operator has
// its force-upgrade annotation for. The next template helps without it, and members
// are removed only when PD can be asked to remove them, which the simulator
// asserts of every resize.
func TestForceUpgrade(t *testing.T) {
	for name, next := range map[string]int{"pd-B18 all of PD is broken": 3, "pd-B1 and fewer members are wanted": 1} {
		t.Run(name, func(t *testing.T) {
			w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
			w.Upgrade("v2-"+crashing, topology.PD)
			_, _ = w.Drive(time.Hour)
			w.sets[pd].spec.partition, w.sets[pd].seen.partition = 0, 0 // the partition is lowered by hand
			for _, p := range w.pods[pd] {
				if p != nil {
					w.remove(p)
				}
			}
			w.Pass(600)
			if w.serving() {
				t.Fatal("PD serves, so this test shows nothing")
			}
			w.Upgrade("v3", topology.PD)
			w.Scale(topology.PD, next)
			members := 0
			w.OnStep("restart basic-pd", func() { members = max(members, len(w.pd.members)) })
			fine(t, w)
			if members != 3 {
				t.Errorf("%d members while PD was brought back\n%s", members, w.Transcript())
			}
			if n := len(w.pd.members); n != next {
				t.Errorf("%d members in the end, want %d", n, next)
			}
		})
	}
}

// pd-B16: with leader-priority PD moves the leader back every minute. The member is restarted
// before that, so we move the leader once.
func TestLeaderPriority(t *testing.T) {
	t.Run("pd-B16", func(t *testing.T) {
		w := settled(Options{})
		preferred, back, returns := w.pd.memberAt(1), int64(0), 0
		w.pd.leader = preferred.id
		var prefer func()
		prefer = func() {
			back = w.t
			w.When(func(w *Model) bool { return w.t >= back+60 && w.pd.leader != 0 && w.alive(*preferred) }, func() {
				if w.pd.leader != preferred.id {
					returns++
				}
				w.pd.leader = preferred.id
				prefer()
			})
		}
		prefer()
		w.Upgrade("v2", topology.PD)
		fine(t, w)
		w.Pass(120)
		moves := strings.Count(w.Transcript(), "move PD leader")
		if moves != 1 || returns != 1 {
			t.Errorf("the leader was moved away %d times, and came back %d times\n%s", moves, returns, w.Transcript())
		}
	})
}

// A single PD that runs but does not serve with its new template is repaired by the next one.
func TestDeafPD(t *testing.T) {
	w := settled(Options{PD: 1, TiKV: 3, TiDB: 1})
	w.Upgrade("v2-deaf", topology.PD)
	_, _ = w.Drive(time.Hour)
	w.Upgrade("v1", topology.PD)
	fine(t, w)
}

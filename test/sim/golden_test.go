package sim

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var update = flag.Bool("update", false, "write the transcripts of today as the expected ones")

// settled is a cluster of 3 PD, 3 TiKV and 2 TiDB that has converged.
func settled(o Options) *Model { return setup{}.settled(o) }

// setup makes the cluster that a golden scenario begins with. It can add faults to it.
type setup struct {
	faults []fault
	silent bool // keep no transcript
	// killed is what a person does when an engine was killed; nil for nothing.
	killed func(*Model)
}

// empty returns a cluster in which nothing exists yet.
func (s setup) empty(o Options) *Model {
	w := New(o)
	s.begin(w)
	return w
}

func (s setup) settled(o Options) *Model {
	if o.PD == 0 {
		o.PD, o.TiKV, o.TiDB = 3, 3, 2
	}
	w := New(o)
	w.Settle(time.Hour)
	w.Pass(int(apart / time.Second)) // its processes are no new ones
	s.begin(w)
	return w
}

func (s setup) begin(w *Model) {
	w.Soft.Steps = 0 // only those of the scenario can have faults
	if !s.silent {
		w.Trace()
	}
	for _, f := range s.faults {
		f.prepare(w)
	}
	if s.killed != nil {
		w.killed = func() { s.killed(w) }
	}
}

// goldens are scenarios without faults, except for the one that a scenario is about.
// Their transcripts are the behaviour of the engine: a change of one is a change that
// users see, to be reviewed as such.
var goldens = map[string]func(setup) *Model{
	"create": func(s setup) *Model {
		w := s.empty(Options{PD: 3, TiKV: 3, TiDB: 2})
		w.Settle(time.Hour)
		return w
	},
	"scale-tikv-out-and-in": func(s setup) *Model {
		w := s.settled(Options{})
		w.Scale(topology.TiKV, 5)
		w.Settle(time.Hour)
		w.Scale(topology.TiKV, 3)
		w.Settle(time.Hour)
		w.Scale(topology.TiKV, 4) // with the claim that was left over
		w.Settle(time.Hour)
		return w
	},
	"upgrade-pauses-ddl": func(s setup) *Model {
		w := s.settled(Options{PD: 3, TiKV: 3, TiDB: 2, DDL: ddlOptions{Asked: true}})
		w.Upgrade("v2", topology.TiDB)
		w.Settle(time.Hour)
		return w
	},
	"restart-members": func(s setup) *Model {
		w := s.settled(Options{})
		leader := *w.pd.member(w.pd.leader)
		w.Restart("basic-tikv-1", "basic-tidb-0", w.names[pd][leader.ordinal])
		w.Settle(time.Hour)
		return w
	},
	"scale-pd-out-and-in": func(s setup) *Model {
		w := s.settled(Options{})
		w.Scale(topology.PD, 5)
		w.Settle(time.Hour)
		w.pd.leader = w.pd.memberAt(4).id
		w.Scale(topology.PD, 3)
		w.Settle(time.Hour)
		w.Scale(topology.PD, 4)
		w.Settle(time.Hour)
		return w
	},
	"scale-tidb-out-and-in": func(s setup) *Model {
		w := s.settled(Options{})
		w.Scale(topology.TiDB, 4)
		w.Settle(time.Hour)
		w.Scale(topology.TiDB, 1)
		w.Settle(time.Hour)
		return w
	},
	"create-with-tiflash-and-ticdc": func(s setup) *Model {
		w := s.empty(Options{PD: 1, TiKV: 3, TiDB: 1, TiFlash: 2, Learners: 1, TiCDC: 2, RulesOff: true})
		w.Settle(time.Hour)
		return w
	},
	"scale-tiflash-out-and-in": func(s setup) *Model {
		w := s.settled(Options{PD: 1, TiKV: 3, TiDB: 1, TiFlash: 2, Learners: 2})
		w.Scale(topology.TiFlash, 3)
		w.Settle(time.Hour)
		w.Scale(topology.TiFlash, 1) // tables ask for two replicas
		if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Blocked {
			w.broke("golden", "%s, %v", p.Outcome, err)
		}
		w.askTables(1)
		w.Settle(time.Hour)
		return w
	},
	"scale-ticdc-out-and-in": func(s setup) *Model {
		w := s.settled(Options{PD: 1, TiKV: 3, TiDB: 1, TiCDC: 2, Feeds: 4})
		w.Scale(topology.TiCDC, 3)
		w.Settle(time.Hour)
		w.Pass(balances)
		w.Scale(topology.TiCDC, 0)
		if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Blocked {
			w.broke("golden", "%s, %v", p.Outcome, err)
		}
		w.changeFeeds(0)
		w.Settle(time.Hour)
		return w
	},
	"upgrade-with-tiflash-and-ticdc": func(s setup) *Model {
		w := s.settled(Options{PD: 1, TiKV: 3, TiDB: 1, TiFlash: 2, Learners: 1, TiCDC: 2, Feeds: 4})
		w.Upgrade("v2")
		w.Settle(time.Hour)
		return w
	},
	"upgrade": func(s setup) *Model {
		w := s.settled(Options{})
		w.pd.leader = w.pd.memberAt(2).id
		w.Upgrade("v2")
		w.Settle(time.Hour)
		return w
	},
	"canary": func(s setup) *Model {
		w := s.settled(Options{})
		w.Canary(topology.TiKV, 1)
		w.Upgrade("v2")
		w.Settle(time.Hour)
		return w
	},
	"upgrade-and-scale": func(s setup) *Model {
		w := s.settled(Options{PD: 3, TiKV: 4, TiDB: 2})
		w.Upgrade("v2")
		w.Scale(topology.PD, 4)
		w.Scale(topology.TiKV, 3)
		w.Scale(topology.TiDB, 3)
		w.Settle(time.Hour)
		return w
	},
	"revert": func(s setup) *Model {
		w := s.settled(Options{})
		w.Upgrade("v2")
		w.OnStep("restart basic-tikv-1", func() { w.Upgrade("v1") })
		w.Settle(time.Hour)
		return w
	},
	"bad-image": func(s setup) *Model {
		w := s.settled(Options{KeepStuck: true})
		w.Upgrade("v2-noimage", topology.TiKV)
		if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Blocked {
			w.broke("golden", "%s, %v", p.Outcome, err)
		}
		w.Upgrade("v3", topology.TiKV)
		w.Settle(time.Hour)
		return w
	},
	"bad-image-at-creation": func(s setup) *Model {
		w := s.empty(Options{PD: 3, TiKV: 3, TiDB: 1, KeepStuck: true})
		w.Upgrade("v1-noimage")
		_, _ = w.Drive(time.Hour)
		w.Upgrade("v1")
		w.Settle(time.Hour)
		return w
	},
	"cancel-scale-in-evicting":  cancelled(func(w *Model) bool { return len(w.evicts) > 0 }),
	"cancel-scale-in-offline":   cancelled(func(w *Model) bool { return w.stores[3].regions < 10 }),
	"cancel-scale-in-tombstone": cancelled(func(w *Model) bool { return w.stores[3].state == "Tombstone" }),
	"cancel-scale-in-pd-marked": func(s setup) *Model {
		w := s.settled(Options{PD: 4, TiKV: 3, TiDB: 1})
		w.OnStep("remove PD member", func() { w.Scale(topology.PD, 4); w.Stop() })
		w.Scale(topology.PD, 3)
		_, _ = w.Drive(time.Hour)
		w.Settle(time.Hour)
		return w
	},
	"single": func(s setup) *Model {
		w := s.settled(Options{PD: 1, TiKV: 1, TiDB: 1, MaxCopy: 1})
		w.Upgrade("v2")
		w.Settle(time.Hour)
		return w
	},
	"killed": func(s setup) *Model {
		w := s.settled(Options{})
		w.Upgrade("v2", topology.TiKV)
		w.OnStep("restart basic-tikv-2", func() { w.kill() })
		_, _ = w.Drive(time.Hour)
		w.Pass(20)
		w.Settle(time.Hour)
		return w
	},
	"interrupted": func(s setup) *Model {
		w := s.settled(Options{})
		w.Upgrade("v2", topology.TiKV)
		w.When(func(w *Model) bool { return len(w.evicts) > 0 }, func() { w.Stop() })
		_, _ = w.Drive(time.Hour)
		w.Settle(time.Hour)
		return w
	},
	"store-lost-during-upgrade": func(s setup) *Model {
		w := s.settled(Options{PD: 3, TiKV: 4, TiDB: 2})
		w.Upgrade("v2", topology.TiKV)
		w.OnStep("restart basic-tikv-3", func() { w.lose(w.pods[tikv][0], 120) })
		w.Settle(time.Hour)
		return w
	},
}

// cancelled returns a scale-in of TiKV that the user cancels when a condition holds.
func cancelled(when func(*Model) bool) func(setup) *Model {
	return func(s setup) *Model {
		w := s.settled(Options{PD: 3, TiKV: 4, TiDB: 1})
		w.When(when, func() { w.Scale(topology.TiKV, 4) })
		w.Scale(topology.TiKV, 3)
		w.Settle(time.Hour)
		return w
	}
}

func TestGoldens(t *testing.T) {
	for name, run := range goldens {
		t.Run(name, func(t *testing.T) {
			w := run(setup{})
			for _, v := range w.Broken {
				t.Error(v)
			}
			if s := w.Soft; s.WithLeaders > 0 || s.LeadersKilled > 0 || s.LeaderMoves > s.LeadersTaken || s.Needless > 0 {
				t.Errorf("not good enough: %+v", s)
			}
			path, got := filepath.Join("testdata", name+".golden"), w.Transcript()
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the transcript has changed; if that is intended, run go test ./test/sim -run Goldens -update\n%s", difference(string(want), got))
			}
		})
	}
}

// difference shows the first lines in which two transcripts differ.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			return "want:\n" + around(w, i) + "\ngot:\n" + around(g, i)
		}
	}
	return ""
}

func around(lines []string, i int) string {
	return "  " + strings.Join(lines[min(max(0, i-3), len(lines)):min(i+8, len(lines))], "\n  ")
}

package forecast_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/forecast"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// The order of steps is compared with that of runs in test/sim.

func of(c *plantest.Cluster) forecast.Forecast {
	return forecast.Of(component.Profiles(), plan.Policy{}, c.Wanted, c.Seen)
}

func texts(f forecast.Forecast) []string {
	var all []string
	for _, s := range f.Steps {
		all = append(all, s.String())
	}
	return all
}

// upgraded is a cluster with another template of each component.
func upgraded() *plantest.Cluster {
	c := plantest.New(3, 3, 2)
	for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
		c.Want(k).Set.Drift, c.Want(k).Template = desired.Differs, "new"
	}
	return c
}

// TestInputStays: the snapshot and what is wanted are those of the caller, who decides by them afterwards.
func TestInputStays(t *testing.T) {
	make := func() *plantest.Cluster {
		c := upgraded().Volumes(topology.TiKV, 10<<30, 20<<30)
		c.Want(topology.PD).Replicas, c.Want(topology.TiDB).Replicas = 1, 3
		return c
	}
	c, same := make(), make()
	if f := of(c); f.Last.Outcome != plan.Converged || len(f.Steps) < 20 {
		t.Fatalf("%s after %d steps", f.Last.Outcome, len(f.Steps))
	}
	if !reflect.DeepEqual(c.Seen, same.Seen) {
		t.Error("the snapshot has changed")
	}
	if !reflect.DeepEqual(c.Wanted, same.Wanted) {
		t.Error("what is wanted has changed")
	}
}

// TestSteps: a forecast knows each kind of step that a run can take, but those of upkeep.
func TestSteps(t *testing.T) {
	upkeep := []string{"Label", "TendVolume", "RemakePod", "LabelStore"}
	var steps []string
	files, _ := filepath.Glob("../step/*.go")
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "Action" {
				steps = append(steps, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	if len(steps) < 30 {
		t.Fatalf("only %d kinds of steps: %s", len(steps), steps)
	}
	known := forecast.Steps()
	for _, s := range steps {
		if slices.Contains(known, s) == slices.Contains(upkeep, s) {
			t.Errorf("%s: known %t", s, slices.Contains(known, s))
		}
	}
}

// TestWaits: each step says what is waited for after it.
func TestWaits(t *testing.T) {
	waits := map[string][]plan.Reason{}
	for _, s := range of(upgraded()).Steps {
		for _, w := range s.Waits {
			waits[s.String()] = append(waits[s.String()], w.Reason)
		}
	}
	for next, want := range map[string]plan.Reason{
		"evict region leaders from t-tikv-1": plan.LeadersEvicted, "restart t-tikv-1": plan.MemberServing, "restart t-pd-2": plan.MemberServing,
	} {
		if !slices.Contains(waits[next], want) {
			t.Errorf("after %q: %s", next, waits[next])
		}
	}
	for next, reasons := range waits {
		if slices.Contains(reasons, plan.RolloutQueued) {
			t.Errorf("%q waits for its turn", next)
		}
	}
}

// TestStaysDown: a member that does not serve for long does not come back by itself, and the forecast
// ends with the gate that names it.
func TestStaysDown(t *testing.T) {
	c := upgraded().Down(time.Hour, "t-tidb-1")
	if f := of(c); f.Last.Outcome != plan.Converged || !slices.Contains(texts(f), "restart t-tidb-1") {
		t.Errorf("with another template it is replaced: %s, %s", f.Last.Outcome, texts(f))
	}
	down := plantest.New(3, 3, 2).Down(time.Hour, "t-tikv-0")
	f := of(down)
	if f.Last.Outcome == plan.Converged || len(f.Last.Gates) == 0 || f.Last.Gates[0].Member != "t-tikv-0" {
		t.Errorf("%s, %v", f.Last.Outcome, f.Last.Gates)
	}
}

// TestNewStores: stores that PD calls Down before their first heartbeat take leaders a moment later.
func TestNewStores(t *testing.T) {
	c := upgraded()
	for _, name := range []string{"t-tikv-0", "t-tikv-1"} {
		d := &c.Member(name).Database
		d.New, d.State, d.Leaders = true, state.StoreDown, 0
	}
	c.Seen.PD.UpStores = 1
	restarts := 0
	for _, s := range of(c).Steps {
		r, ok := s.Step.(step.Restart)
		if ok && r.Component == topology.TiKV {
			restarts++
		}
		if ok && r.Without != "" {
			t.Errorf("%s", s)
		}
	}
	if restarts != 3 {
		t.Errorf("%d restarts of TiKV", restarts)
	}
}

// TestTotals: what is not known is never counted as zero.
func TestTotals(t *testing.T) {
	c := upgraded()
	c.Member("t-tikv-0").Database.Leaders = -1
	c.Member("t-tikv-1").Database.Leaders, c.Member("t-tikv-2").Database.Leaders = 30, 12
	got := of(c).Totals
	if got.Leaders != (forecast.Amount{Known: 42, Unknown: 1}) {
		t.Errorf("leaders: %+v", got.Leaders)
	}
	want := []forecast.Count{{Component: topology.PD, Number: 3}, {Component: topology.TiKV, Number: 3}, {Component: topology.TiDB, Number: 2}}
	if !slices.Equal(got.Restarts, want) {
		t.Errorf("restarts: %v", got.Restarts)
	}
}

// TestStarting: how long restarts take is known only from what the same pods took before.
func TestStarting(t *testing.T) {
	c := upgraded()
	for name, took := range map[string]time.Duration{"t-pd-0": 5 * time.Second, "t-pd-1": 7 * time.Second, "t-tikv-0": time.Hour} {
		p := c.Member(name).Pod
		p.Made, p.Since = plantest.Now.Add(-2*time.Hour), plantest.Now.Add(-2*time.Hour+took)
	}
	c.Member("t-pd-1").Pod.Restarts = 1
	if got := of(c).Totals; got.Starting != 5*time.Second || got.StartingUnknown != 7 {
		t.Errorf("%s, not known of %d", got.Starting, got.StartingUnknown)
	}
}

// TestLasting: what cannot be taken back is said.
func TestLasting(t *testing.T) {
	c := plantest.New(3, 4, 2)
	c.Want(topology.TiKV).Replicas, c.Want(topology.PD).Replicas = 3, 1
	c.Wanted.Cluster.Reclaims = true
	c.Seen.PD.MaxReplicas = 3
	for i := range c.Seen.Groups[topology.TiKV].Members {
		m := &c.Seen.Groups[topology.TiKV].Members[i]
		m.Claims = []state.Claim{{Name: "tikv-" + m.Name, UID: m.Name, Template: "tikv", Bound: true}}
	}
	f := of(c)
	lasting := strings.Join(f.Totals.Lasting, "\n")
	for _, want := range []string{"t-tikv-3 leaves for good", "t-pd-2 leaves PD for good", "claim tikv-t-tikv-3 is deleted"} {
		if !strings.Contains(lasting, want) {
			t.Errorf("%q is not said:\n%s\n%s, %v", want, lasting, texts(f), f.Last.Gates)
		}
	}
	if !slices.Contains(f.Totals.Deleted, "tikv-t-tikv-3") {
		t.Errorf("deleted: %s", f.Totals.Deleted)
	}
}

// TestPaused: in a paused cluster nothing is done now, and the same as otherwise after the pause.
func TestPaused(t *testing.T) {
	c := upgraded()
	c.Wanted.Cluster.Paused = true
	f, want := of(c), texts(of(upgraded()))
	if f.First.Outcome != plan.Paused || f.Last.Outcome != plan.Converged || !slices.Equal(texts(f), want) {
		t.Errorf("%s, %s, %s; want %s", f.First.Outcome, f.Last.Outcome, texts(f), want)
	}
}

// TestPasses: what ends by itself within seconds does not end a forecast.
func TestPasses(t *testing.T) {
	heard := plantest.New(3, 4, 2)
	heard.Want(topology.TiKV).Replicas = 3
	heard.Member("t-tikv-3").Database.New = true
	loaded := upgraded()
	loaded.Seen.PD.SchedulersUnknown, loaded.Seen.PD.LeaderSince = true, plantest.Now
	ready := upgraded()
	ready.Want(topology.PD).MinReady = 5 * time.Minute
	for name, c := range map[string]*plantest.Cluster{"a new store": heard, "schedulers": loaded, "minReadySeconds": ready} {
		if f := of(c); f.Last.Outcome != plan.Converged {
			t.Errorf("%s: %s, %v", name, f.Last.Outcome, f.Last.Gates)
		}
	}
}

// TestDDLPauseForecast: what will be done about DDL statements is among the steps of an upgrade, around the restarts of
// TiDB.
func TestDDLPauseForecast(t *testing.T) {
	c := upgraded()
	c.Want(topology.TiDB).PausesDDL, c.Want(topology.TiDB).Version = true, "v8.5.0"
	for _, name := range []string{"t-tidb-0", "t-tidb-1"} {
		c.Member(name).Pod.Version = "v8.1.0"
	}
	f := of(c)
	var got []string
	for _, s := range texts(f) {
		if strings.Contains(s, "DDL") || strings.Contains(s, "restart t-tidb") {
			got = append(got, s)
		}
	}
	want := []string{
		"pause DDL statements for the upgrade from v8.1.0 to v8.5.0, by t-tidb-0", "restart t-tidb-1", "restart t-tidb-0",
		"let DDL statements run again, by t-tidb-1",
	}
	if f.Last.Outcome != plan.Converged || !slices.Equal(got, want) {
		t.Errorf("%s: %q", f.Last.Outcome, got)
	}
}

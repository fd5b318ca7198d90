package drive

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan/plantest"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// golden compares a text with a file; -update, which plantest defines, writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%s differs (%v); run with -update and review\ngot:\n%s\nwant:\n%s", file, err, got, want)
	}
}

// held returns a request, compared with a cluster. The plan is given as well, so that these tests
// are about how a plan is shown and not about what is planned.
func held(c *plantest.Cluster, r Request, p plan.Plan) prospect {
	for i := range c.Wanted.Groups {
		c.Wanted.Groups[i].Version = "v8.1.1"
	}
	return prospect{request: propose(r), wanted: c.Wanted, snapshot: c.Seen, plan: p}
}

func TestPreview(t *testing.T) {
	upgrade := plantest.New(3, 3, 2)
	for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
		upgrade.Want(k).Set.Drift = desired.Differs
		upgrade.Want(k).Template = "new"
	}
	upgrade.Want(topology.TiDB).Manual = true
	scale := plantest.New(3, 4, 2)
	scale.Want(topology.TiKV).Replicas, scale.Want(topology.TiDB).Replicas = 3, 1
	create := plantest.New(1, 3, 2)
	create.Seen = state.Snapshot{At: plantest.Now, PD: state.PD{Problem: "no PD pod is running"}}
	for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
		create.Want(k).Set.Drift = desired.Missing
	}
	evict := plan.Plan{
		Outcome: plan.Act,
		Steps:   []plan.Step{plan.EvictLeaders{Member: "t-tikv-1", StoreID: 2}},
		Gates:   []plan.Gate{{Component: topology.TiKV, Member: "t-tikv-1", Reason: plan.LeadersEvicted, Want: "leaders evicted", Observed: "10 leaders left", Remedy: remedy.Remedy{remedy.Say("add a store")}}},
	}
	begin := plan.Plan{
		Outcome: plan.Act,
		Steps:   []plan.Step{plan.Apply{Component: topology.PD, Object: desired.Object{Kind: "StatefulSet", Name: "t-pd", Drift: desired.Missing}}},
		Gates:   []plan.Gate{{Component: topology.TiKV, Reason: plan.PDServing, Want: "PD serving", Observed: "no PD pod is running"}},
	}
	suspend := plantest.New(3, 4, 2)
	for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
		suspend.Want(k).Suspend = true
	}
	suspend.Set(topology.TiDB, func(s *state.Set) { *s = state.Set{} })
	stop := plan.Plan{Outcome: plan.Act, Steps: []plan.Step{plan.DeleteSet{Component: topology.TiKV, Name: "t-tikv"}}}
	stuck := plan.Plan{Outcome: plan.Blocked, Gates: []plan.Gate{{
		Component: topology.TiKV, Member: "t-tikv-0", Want: "serving", Observed: "pod is not ready", Blocked: true, Remedy: remedy.Remedy{remedy.Say("kubectl describe pod t-tikv-0")},
	}}}
	grow := plantest.New(3, 3, 2).Volumes(topology.TiKV, 10<<30, 20<<30)
	rolled := plantest.New(3, 3, 2).Roll(topology.TiKV).Rolled(topology.TiKV, 2)
	for _, c := range []struct {
		name    string
		cluster *plantest.Cluster
		request Request
		plan    plan.Plan
		code    exit.Code // with --exit-code
	}{
		{"nothing", plantest.New(3, 3, 2), Request{Action: "sync"}, plan.Plan{}, exit.OK},
		{"upgrade", upgrade, Request{Change: intent.Change{Now: cluster("v8.1.0")}, Action: "upgrade to v8.1.1"}, evict, exit.Pending},
		{"scale", scale, Request{Change: intent.Change{Now: cluster("v8.1.1")}, Action: "scale tikv=3 tidb=1"}, evict, exit.Pending},
		{"create", create, Request{Action: "create"}, begin, exit.Pending},
		{"grow", grow, Request{Change: intent.Change{Now: cluster("v8.1.1")}, Action: "apply basic.yaml"}, grow.Decide(), exit.Pending},
		{"half-way", rolled, Request{Change: intent.Change{Now: cluster("v8.1.1")}, Action: "sync"}, evict, exit.Pending},
		{"suspend", suspend, Request{Change: intent.Change{Now: cluster("v8.1.1")}, Action: "apply basic.yaml"}, stop, exit.Pending},
		{"paused", scale, Request{Change: intent.Change{Now: cluster("v8.1.1")}, Action: "apply basic.yaml"}, plan.Plan{Outcome: plan.Paused}, exit.Paused},
		{"blocked", plantest.New(3, 3, 2), Request{Change: intent.Change{Now: cluster("v8.1.1")}, Action: "sync"}, stuck, exit.Refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := held(c.cluster, c.request, c.plan)
			var b bytes.Buffer
			p.print(&b, "")
			golden(t, c.name+".txt", b.String())
			if got := exit.Of(p.verdict(Options{DryRun: ServerDryRun, ExitCode: true})); got != c.code {
				t.Errorf("exit code %d, want %d", got, c.code)
			}
			if got := exit.Of(p.verdict(Options{DryRun: ServerDryRun})); got == exit.Pending {
				t.Errorf("exit code %d without --exit-code", got)
			}
		})
	}
}

// cluster returns a TidbCluster of a version.
func cluster(version string) *v1alpha1.TidbCluster {
	return &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{
		Version: version,
		PD:      &v1alpha1.PDSpec{BaseImage: "pingcap/pd", Replicas: 3},
		TiKV:    &v1alpha1.TiKVSpec{BaseImage: "pingcap/tikv", Replicas: 3},
		TiDB:    &v1alpha1.TiDBSpec{BaseImage: "pingcap/tidb", Replicas: 2},
	}}
}

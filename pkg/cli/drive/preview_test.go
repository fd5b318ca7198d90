package drive

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// held returns a request, compared with a cluster.
func held(c *plantest.Cluster, r Request, p plan.Plan) prospect {
	for i := range c.Wanted.Groups {
		c.Wanted.Groups[i].Version = "v8.1.1"
	}
	return prospect{request: propose(r), wanted: c.Wanted, snapshot: c.Seen, plan: p}
}

// TestForetoldInAPause: a dry run for a paused cluster says what an earlier run has begun, with what ends that.
func TestForetoldInAPause(t *testing.T) {
	c := plantest.New(3, 3, 2).Evicting("t-tikv-1", time.Hour, 0)
	c.Wanted.Cluster.Paused = true
	p := held(c, Request{Change: intent.Change{Now: cluster("v8.1.1")}, Action: "apply"}, c.Decide())
	p.warnings = p.foretold()
	var b bytes.Buffer
	p.print(&b, "")
	for _, says := range []string{"note: t-tikv-1: PD keeps region leaders off store 2 since", "kubectl tidb resume t -n ns", "the cluster is paused"} {
		if !strings.Contains(b.String(), says) {
			t.Errorf("%q is not said:\n%s", says, b.String())
		}
	}
}

// TestVerdict: a dry run ends with the exit code that a pipeline goes by.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		outcome plan.Outcome
		code    exit.Code // with --exit-code
	}{
		{plan.Converged, exit.OK}, {plan.Act, exit.Pending}, {plan.Wait, exit.Pending}, {plan.Paused, exit.Paused}, {plan.Blocked, exit.Refused},
	} {
		p := held(plantest.New(3, 3, 2), Request{Change: intent.Change{Now: cluster("v8.1.1")}, Action: "sync"}, plan.Plan{Outcome: c.outcome})
		if got := exit.Of(p.verdict(flags.Options{DryRun: flags.ServerDryRun, ExitCode: true})); got != c.code {
			t.Errorf("%s: exit code %d, want %d", c.outcome, got, c.code)
		}
		if got := exit.Of(p.verdict(flags.Options{DryRun: flags.ServerDryRun})); got == exit.Pending {
			t.Errorf("%s: exit code %d without --exit-code", c.outcome, got)
		}
	}
}

// TestDryRunShowsAll: a dry run shows the steps up to the end, and not only the first ones.
func TestDryRunShowsAll(t *testing.T) {
	c := plantest.New(3, 3, 2).Roll(topology.TiKV)
	p := held(c, Request{Change: intent.Change{Now: cluster("v8.1.1")}, Action: "sync"}, c.Decide())
	var b bytes.Buffer
	p.print(&b, "")
	if got := b.String(); !strings.Contains(got, "t-tikv-2, t-tikv-1, t-tikv-0: evict region leaders") {
		t.Error(got)
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

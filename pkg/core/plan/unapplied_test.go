package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestUnapplied: a configuration that was written in place has converged, and the
// plan names the members that run without it.
func TestUnapplied(t *testing.T) {
	c := with(func(c *plantest.Cluster) {
		c.Want(tikv).InPlace = true
		c.Member("t-tikv-0").Pod.Config = state.ConfigCurrent
		c.Member("t-tikv-1").Pod.Config = state.ConfigOlder
		c.Member("t-tikv-2").Pod.Config = state.ConfigOlder
		c.Member("t-pd-0").Pod.Config = state.ConfigOlder // a change of its configuration is a rollout
	})
	p := c.Decide()
	if p.Outcome != plan.Converged || len(p.Unapplied) != 1 {
		t.Fatalf("%v, %+v", p.Outcome, p.Unapplied)
	}
	const says = "TiKV (configUpdateStrategy InPlace): t-tikv-1, t-tikv-2 started before the configuration was written and run without it; " +
		"of t-tikv-3 it is not known whether they run with it"
	if got := p.Unapplied[0].String(); got != says {
		t.Errorf("got %q, want %q", got, says)
	}
	const restart = "restart them one after another: kubectl tidb restart t tikv -n ns"
	if got := p.Unapplied[0].Remedy.Line(""); got != restart {
		t.Errorf("got %s, want %s", got, restart)
	}
	for _, name := range []string{"t-tikv-2", "t-tikv-3"} {
		c.Member(name).Pod.Config = state.ConfigCurrent
	}
	const one = "TiKV (configUpdateStrategy InPlace): t-tikv-1 started before the configuration was written and run without it"
	if p := c.Decide(); len(p.Unapplied) != 1 || p.Unapplied[0].String() != one {
		t.Errorf("of one member: %+v", p.Unapplied)
	}
	for i, change := range []func(p **state.Pod){
		func(p **state.Pod) { (*p).Config = state.ConfigUnknown },
		func(p **state.Pod) { *p = nil },
		func(p **state.Pod) { (*p).Config, (*p).Terminating = state.ConfigOlder, true },
		func(p **state.Pod) { (*p).Config, (*p).Started = state.ConfigOlder, time.Time{} },
	} {
		change(&c.Member(c.Wanted.Cluster.PodName(tikv, i)).Pod)
	}
	const unknown = "TiKV (configUpdateStrategy InPlace): of t-tikv-0 it is not known whether they run with it"
	if p := c.Decide(); len(p.Unapplied) != 1 || p.Unapplied[0].String() != unknown {
		t.Errorf("those that do not run start with it, or are gone: %+v", p.Unapplied)
	}
	config := c.Want(tikv).Config
	if c.Want(tikv).Config = nil; len(c.Decide().Unapplied) > 0 {
		t.Error("without a ConfigMap there is nothing to run with")
	}
	c.Want(tikv).Config = config
	c.Want(tikv).InPlace = false
	if p := c.Decide(); len(p.Unapplied) > 0 {
		t.Errorf("with RollingUpdate: %+v", p.Unapplied)
	}
}

package status

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	rules "github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// seen returns what status shows of a cluster. The plan is given as well, so that these tests are
// about how a plan is shown and not about what is planned.
func seen(c *plantest.Cluster, p plan.Plan) sight {
	for i := range c.Wanted.Groups {
		c.Wanted.Groups[i].Version = "v8.1.0"
	}
	c.Wanted.Cluster.Source = &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{Version: "v8.1.0"}}
	return sight{wanted: c.Wanted, snapshot: c.Seen, plan: p}
}

func waits(gates ...plan.Gate) plan.Plan { return plan.Plan{Outcome: plan.Wait, Gates: gates} }

// suspended returns a cluster of which components are suspended.
func suspended(kinds ...topology.Kind) *plantest.Cluster {
	c := plantest.New(1, 1, 1)
	for _, k := range kinds {
		g := c.Want(k)
		g.Suspend = true
		c.Wanted.Cluster.Groups = append(c.Wanted.Cluster.Groups, g.Group)
		m := c.Member(c.Wanted.Cluster.PodName(k, 0))
		m.Pod, m.Database = nil, state.Database{}
		c.Set(k, func(s *state.Set) { *s = state.Set{} })
		if k == topology.PD {
			c.Seen.PD = state.PD{Problem: "no PD pod is running"}
		}
	}
	return c
}

func cases() map[string]sight {
	evicted := plan.Gate{Component: topology.TiKV, Member: "t-tikv-2", Reason: plan.LeadersEvicted, Want: "leaders evicted", Observed: "4 leaders left", Remedy: remedy.Remedy{remedy.Say("add a store")}}
	driven := seen(plantest.New(3, 3, 2).Roll(topology.TiKV).Evicting("t-tikv-2", 2*time.Minute, 4), waits(evicted))
	driven.driver = lease.Holder{Identity: "ann@laptop/4711/88/3f", Renewed: plantest.Now.Add(-3 * time.Second)}
	renewed := driven
	renewed.driver.Renewed = plantest.Now.Add(3 * time.Second) // after the look
	evicted.Observed = "unknown"
	operated := seen(plantest.New(3, 3, 2), plan.Plan{Outcome: plan.Act, Steps: []step.Step{step.Resize{Component: topology.TiKV, From: 3, To: 4}}})
	operated.operator = true
	operated.driver = lease.Holder{Identity: "tidb-operator op-1 in namespace ops", Renewed: plantest.Now.Add(-3 * time.Second)}
	missing := plantest.New(3, 3, 2)
	missing.Member("t-tidb-1").Pod = nil
	missing.Member("t-tidb-1").Database = state.Database{}
	growing := plantest.New(3, 3, 2)
	growing.Want(topology.TiKV).Replicas = 4
	paused, deleting := plantest.New(1, 1, 1), plantest.New(1, 1, 1)
	paused.Wanted.Cluster.Paused, deleting.Wanted.Cluster.Deleting = true, true
	recorded, over := plantest.New(1, 1, 1), plantest.New(1, 1, 1)
	for c, left := range map[*plantest.Cluster]time.Duration{recorded: time.Hour, over: -time.Minute} {
		c.Wanted.Cluster.Paused = true
		c.Wanted.Cluster.Pause = topology.Pause{
			By: "ann@laptop", Since: plantest.Now.Add(-time.Hour), Until: plantest.Now.Add(left), Reason: "new switches", Recorded: true,
		}
	}
	tooled := plantest.New(1, 1, 1)
	tooled.Wanted.Cluster.Paused, tooled.Wanted.Cluster.Pause = true, topology.Pause{By: "argocd-controller"}
	asleep, falling := suspended(topology.PD, topology.TiKV, topology.TiDB), suspended(topology.TiDB)
	falling.Member("t-tidb-0").Pod = &state.Pod{Terminating: true}
	down := plan.Gate{Component: topology.TiKV, Member: "t-tikv-0", Reason: plan.MemberServing, Want: "serving", Observed: "pod is not ready", Remedy: remedy.Remedy{remedy.Say("kubectl describe pod t-tikv-0")}}
	blocked := down
	blocked.Blocked = true
	foreign := plantest.New(3, 3, 2).Evicting("t-tikv-2", 2*time.Minute, 0)
	foreign.Seen.Evictions[0].Foreign = true
	found := plan.Plan{Notices: []desired.Notice{{
		Component: topology.TiKV, Member: "t-tikv-2", Text: "store 3 leads no regions", Remedy: remedy.Remedy{remedy.Say("see it: kubectl exec t-pd-0")},
	}}}
	inPlace := plan.Plan{Unapplied: []plan.Unapplied{{
		Component: topology.TiKV, Older: []string{"t-tikv-0", "t-tikv-1"}, Unknown: []string{"t-tikv-2"}, Remedy: remedy.Remedy{remedy.Say("kubectl patch tc t -n ns")},
	}}}
	behind := plan.Plan{Notices: rules.LogBackups(topology.Cluster{Namespace: "db", Name: "basic"}, []state.LogBackup{{Task: "pitr", Paused: true, Behind: 2 * time.Hour}, {Task: "daily", Behind: time.Hour}})}
	part := plantest.New(1, 2, 0)
	part.Wanted.Groups = slices.DeleteFunc(part.Wanted.Groups, func(g desired.Group) bool { return g.Kind != topology.TiKV })
	part.Seen.PD.Leader = "shop-pd-0"
	part.Seen.PD.OtherVoters = []state.OtherVoter{{ID: 91, Name: "shop-pd-0", Healthy: true}, {ID: 92, Name: "shop-pd-1"}, {ID: 93, Name: "shop-pd-2", Healthy: true}}
	part.Seen.PD.OtherStores = []state.OtherStore{{Component: topology.TiKV, ID: 94, Host: "shop-tikv-0.shop-tikv-peer.ns.svc", State: state.StoreUp}}
	return map[string]sight{
		"part":        seen(part, plan.Plan{}),
		"log-backup":  seen(plantest.New(3, 3, 2), behind),
		"found":       seen(foreign, found),
		"in-place":    seen(plantest.New(3, 3, 2), inPlace),
		"at-rest":     seen(plantest.New(3, 3, 2), plan.Plan{}),
		"to-do":       seen(growing, plan.Plan{Outcome: plan.Act, Steps: []step.Step{step.Resize{Component: topology.TiKV, From: 3, To: 4}}}),
		"driven":      driven,
		"renewed":     renewed,
		"operated":    operated,
		"unread":      seen(plantest.New(3, 3, 2).Roll(topology.TiKV).Evicting("t-tikv-2", 2*time.Minute, -1), waits(evicted)),
		"store-down":  seen(plantest.New(3, 3, 2).Down(time.Minute, "t-tikv-0"), waits(down)),
		"blocked":     seen(plantest.New(3, 3, 2).Down(time.Hour, "t-tikv-0"), plan.Plan{Outcome: plan.Blocked, Gates: []plan.Gate{blocked}}),
		"missing-pod": seen(missing, waits(plan.Gate{Component: topology.TiDB, Member: "t-tidb-1", Reason: plan.MemberServing, Want: "serving", Observed: "no pod"})),
		"pd-unknown":  seen(plantest.New(3, 3, 2).PDUnknown(), waits(plan.Gate{Component: topology.TiKV, Reason: plan.PDServing, Want: "PD serving", Observed: "PD does not answer"})),
		"paused":      seen(paused, plan.Plan{Outcome: plan.Paused}),
		"paused-by":   seen(recorded, plan.Plan{Outcome: plan.Paused}),
		"paused-over": seen(over, over.Decide()),
		"paused-tool": seen(tooled, plan.Plan{Outcome: plan.Paused}),
		"suspended":   seen(asleep, plan.Plan{}),
		"suspending":  seen(falling, waits(plan.Gate{Component: topology.TiDB, Member: "t-tidb-0", Reason: plan.PodDeleted, Want: "pod deleted", Observed: "pod is terminating"})),
		"deleting":    seen(deleting, plan.Plan{Outcome: plan.Paused}),
	}
}

func TestShow(t *testing.T) {
	for name, l := range cases() {
		var b bytes.Buffer
		if err := l.show(&b, false); err != nil {
			t.Error(err)
		}
		plantest.Golden(t, name+".txt", b.String())
	}
}

// TestTerminal: what a user sees in terminals of three widths. Only commands are wider than a terminal.
func TestTerminal(t *testing.T) {
	all := cases()
	all["wide"] = wide()
	golden := []string{"blocked", "driven", "pd-unknown", "found", "wide"}
	for name, l := range all {
		var b bytes.Buffer
		for _, width := range []int{40, 80, 200} {
			var screen bytes.Buffer
			if err := l.show(report.Paper{Writer: &screen, Columns: width}, name == "wide"); err != nil {
				t.Error(err)
			}
			for line := range strings.Lines(screen.String()) {
				if len(line) > width+1 && !strings.Contains(line, "kubectl ") {
					t.Errorf("%s: wider than %d columns: %q", name, width, line)
				}
			}
			fmt.Fprintf(&b, "====== %d columns\n%s", width, &screen)
		}
		if slices.Contains(golden, name) {
			plantest.Golden(t, "terminal-"+name+".txt", b.String())
		}
	}
}

// TestWide: more columns, before the notes.
func TestWide(t *testing.T) {
	var b bytes.Buffer
	if err := wide().show(&b, true); err != nil {
		t.Error(err)
	}
	plantest.Golden(t, "wide.txt", b.String())
}

// wide returns what status shows of a cluster of which all is known.
func wide() sight {
	c := plantest.New(1, 1, 1)
	for _, name := range []string{"t-pd-0", "t-tikv-0", "t-tidb-0"} {
		m := c.Member(name)
		m.Pod.Made, m.Pod.Node, m.Pod.Restarts = plantest.Now.Add(-49*time.Hour), "node-1", 2
		for i := range m.Claims {
			m.Claims[i].Capacity = 100 << 30
		}
	}
	l := seen(c, plan.Plan{})
	l.context = "prod"
	return l
}

func TestJSON(t *testing.T) {
	for _, name := range []string{"driven", "pd-unknown", "suspended", "found", "in-place", "paused-by", "paused-tool", "part"} {
		var b bytes.Buffer
		if err := output.Write(&b, cases()[name].view()); err != nil {
			t.Error(err)
		}
		plantest.Golden(t, name+".json", b.String())
	}
}

// TestImpossible: if a cluster cannot become what is wanted, its members are shown all the same,
// with the reason.
func TestImpossible(t *testing.T) {
	l := seen(plantest.New(1, 1, 1), plan.Plan{})
	c := l.wanted.Cluster
	for _, g := range l.wanted.Groups {
		c.Groups = append(c.Groups, g.Group)
	}
	l.wanted, l.plan = impossible(c, &render.RefusedError{Fields: field.ErrorList{
		field.Forbidden(field.NewPath("spec", "tikv", "storageClassName"), "a claim keeps its class"),
	}})
	if l.plan.Outcome != plan.Blocked {
		t.Errorf("outcome %v", l.plan.Outcome)
	}
	var b bytes.Buffer
	if err := l.show(&b, false); err != nil {
		t.Error(err)
	}
	plantest.Golden(t, "impossible.txt", b.String())
}

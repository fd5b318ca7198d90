package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestRestoring: while BR restores data, no member of PD and no store is taken away that may serve. A server of TiDB is,
// and members are added and repaired.
func TestRestoring(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*plantest.Cluster)
		held   bool
	}{
		"nothing to do":              {func(*plantest.Cluster) {}, false},
		"a store":                    {func(c *plantest.Cluster) { c.Roll(tikv) }, true},
		"a store without leaders":    {func(c *plantest.Cluster) { c.Roll(tikv).Evicting("t-tikv-3", time.Minute, 0) }, true},
		"a store that does not run":  {func(c *plantest.Cluster) { c.Roll(tikv).Down(time.Minute, "t-tikv-3") }, false},
		"a PD without a quorum":      {func(c *plantest.Cluster) { c.Roll(pd).Down(time.Hour, "t-pd-1", "t-pd-2").PDUnknown() }, false},
		"a member of PD":             {func(c *plantest.Cluster) { c.Roll(pd) }, true},
		"a server":                   {func(c *plantest.Cluster) { c.Roll(tidb) }, false},
		"one store fewer":            {func(c *plantest.Cluster) { c.Want(tikv).Replicas = 3 }, true},
		"one store more":             {func(c *plantest.Cluster) { c.Want(tikv).Replicas = 5 }, false},
		"a store that is replaced":   {func(c *plantest.Cluster) { replaced(c, "t-tikv-1") }, true},
		"a suspension":               {func(c *plantest.Cluster) { c.Want(tikv).Suspend = true }, true},
		"an eviction that is to end": {func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, 0) }, false},
	} {
		cluster := plantest.New(3, 4, 2).Volumes(tikv, 10*gi, 10*gi)
		c.change(cluster)
		before := cluster.Decide()
		record(cluster, `{"restore":"t-restore-1","since":"2026-01-01T00:00:00Z","cluster":"7"}`)
		p := cluster.Decide()
		held := slices.ContainsFunc(p.Gates, func(g plan.Gate) bool { return g.Reason == plan.RestoreEnded })
		if takes := slices.ContainsFunc(p.Steps, plan.TakesAway); held != c.held || held && takes {
			t.Errorf("%s: held back: %t, want %t\n%s\nwithout a restore:\n%s", name, held, c.held, plantest.Text(p), plantest.Text(before))
		}
	}
}

// TestRestoringOver: a record does not hold back for ever. One of another cluster of PD is a copy, and without PD no BR
// restores anything. After a day a person is asked to look.
func TestRestoringOver(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		change  func(*plantest.Cluster)
		held    bool
		blocked bool
	}{
		"of today":           {`{"restore":"t-restore-1","since":"2026-01-01T00:00:00Z","cluster":"7"}`, func(*plantest.Cluster) {}, true, false},
		"of a day before":    {`{"restore":"t-restore-1","since":"2025-12-30T00:00:00Z","cluster":"7"}`, func(*plantest.Cluster) {}, true, true},
		"of another cluster": {`{"restore":"t-restore-1","since":"2026-01-01T00:00:00Z","cluster":"8"}`, func(*plantest.Cluster) {}, false, false},
		"PD is lost":         {`{"restore":"t-restore-1","since":"2026-01-01T00:00:00Z","cluster":"7"}`, func(c *plantest.Cluster) { c.PDUnknown() }, false, false},
	} {
		cluster := plantest.New(3, 4, 2).Roll(tikv)
		record(cluster, c.text)
		c.change(cluster)
		p := cluster.Decide()
		i := slices.IndexFunc(p.Gates, func(g plan.Gate) bool { return g.Reason == plan.RestoreEnded })
		if i >= 0 != c.held || i >= 0 && p.Gates[i].Blocked != c.blocked {
			t.Errorf("%s: want held back %t, blocked %t\n%s", name, c.held, c.blocked, plantest.Text(p))
		}
	}
}

// record has the TidbCluster say that BR restores data.
func record(c *plantest.Cluster, text string) {
	source := &v1alpha1.TidbCluster{}
	source.Annotations = map[string]string{topology.AnnotationRestore: text}
	c.Wanted.Cluster.Source = source
}

// TestRestoringNamed: the gate says which restore it is, and how it ends. A record that cannot be read holds back as well.
func TestRestoringNamed(t *testing.T) {
	for text, want := range map[string][]string{
		`{"restore":"t-restore-1","since":"2026-01-01T00:00:00Z","cluster":"7"}`: {
			"restore under way: restore t-restore-1 began at 2026-01-01T00:00:00Z", "kubectl get job t-br-restore -n ns", "kubectl tidb restore t --cancel -n ns",
		},
		"{": {"kubectl-tidb/pd-settings-before-restore of tidbcluster", "cannot be read", "kubectl annotate tidbcluster t kubectl-tidb/pd-settings-before-restore- -n ns"},
	} {
		c := plantest.New(3, 4, 2).Roll(tikv)
		record(c, text)
		p := c.Decide()
		i := slices.IndexFunc(p.Gates, func(g plan.Gate) bool { return g.Reason == plan.RestoreEnded })
		if i < 0 {
			t.Errorf("%s: nothing is held back", text)
			continue
		}
		says := p.Gates[i].String() + "; " + p.Gates[i].Remedy.Line("")
		for _, want := range want {
			if !strings.Contains(says, want) {
				t.Errorf("%s: no %q in %s", text, want, says)
			}
		}
	}
}

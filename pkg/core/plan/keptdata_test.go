package plan_test

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// recorded sets the version that a member's claim records.
func recorded(m *state.Member, version string) {
	m.Claims[0].Identity.Annotations = map[string]string{topology.LabelPodName: m.Name, topology.AnnotationRan: version}
}

// onlyClaims returns a cluster of which only claims of PD and TiKV are left.
func onlyClaims(change func(*plantest.Cluster)) *plantest.Cluster {
	c := plantest.New(1, 2, 1)
	for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
		g := c.Seen.Groups[k]
		g.Set = state.Set{}
		for i := range g.Members {
			g.Members[i].Pod, g.Members[i].Database = nil, state.Database{}
		}
		c.Seen.Groups[k] = g
		c.Want(k).Set.Drift, c.Want(k).Version = desired.Missing, "v8.1.0"
	}
	c.Seen.PD = state.PD{Problem: "no PD pod is running"}
	for _, name := range []string{"t-pd-0", "t-tikv-0", "t-tikv-1"} {
		recorded(c.Member(name), "v8.1.0")
	}
	change(c)
	return c
}

// TestKeptData: no StatefulSet is made whose pods would start a version on data of
// a higher one.
func TestKeptData(t *testing.T) {
	for _, c := range []struct {
		name    string
		cluster *plantest.Cluster
		blocked bool
		says    string
	}{
		{"the same version", onlyClaims(func(*plantest.Cluster) {}), false, ""},
		{"a lower version has run", onlyClaims(func(c *plantest.Cluster) { recorded(c.Member("t-pd-0"), "v7.5.0") }), false, ""},
		{"a higher version has run", onlyClaims(func(c *plantest.Cluster) { recorded(c.Member("t-pd-0"), "v8.5.2") }), true,
			"PD: version too low for the data: v8.1.0 requested, and v8.5.2 has run on claim pd-t-pd-0"},
		{"a higher version has run, once", onlyClaims(func(c *plantest.Cluster) { recorded(c.Member("t-tikv-0"), "v8.5.2") }), true,
			"TiKV: version too low for the data: v8.1.0 requested, and v8.5.2 has run on claims tikv-t-tikv-0 and tikv-t-tikv-1"},
		{"a higher version has run on the last of them", onlyClaims(func(c *plantest.Cluster) { recorded(c.Member("t-tikv-1"), "v8.5.2") }), true,
			"TiKV: version too low for the data: v8.1.0 requested, and v8.5.2 has run on claims tikv-t-tikv-0 and tikv-t-tikv-1"},
		{"no record", onlyClaims(func(c *plantest.Cluster) { c.Member("t-pd-0").Claims[0].Identity = state.Identity{} }), false, ""},
		{"no release", onlyClaims(func(c *plantest.Cluster) { recorded(c.Member("t-pd-0"), "nightly") }), false, ""},
		{"no release after a lower version", onlyClaims(func(c *plantest.Cluster) { recorded(c.Member("t-pd-0"), "v7.5.0 nightly") }), false, ""},
		{"no release after a higher version", onlyClaims(func(c *plantest.Cluster) { recorded(c.Member("t-pd-0"), "v8.5.2 nightly") }), true,
			"PD: version too low for the data: v8.1.0 requested, and v8.5.2 has run on claim pd-t-pd-0"},
		{"no release, and a higher version", onlyClaims(func(c *plantest.Cluster) {
			recorded(c.Member("t-tikv-0"), "nightly")
			recorded(c.Member("t-tikv-1"), "v8.5.2")
		}), true, "TiKV: version too low for the data: v8.1.0 requested, and v8.5.2 has run on claim tikv-t-tikv-1"},
		{"a higher version, and no release", onlyClaims(func(c *plantest.Cluster) {
			recorded(c.Member("t-tikv-0"), "v8.5.2")
			recorded(c.Member("t-tikv-1"), "nightly")
		}), true, "TiKV: version too low for the data: v8.1.0 requested, and v8.5.2 has run on claim tikv-t-tikv-0"},
		{"a higher version has run on the second claim of a member, and the first one is going", onlyClaims(func(c *plantest.Cluster) {
			m := c.Member("t-pd-0")
			m.Claims = append(m.Claims, m.Claims[0])
			recorded(m, "v8.5.2")
			m.Claims[0], m.Claims[1] = m.Claims[1], m.Claims[0]
			m.Claims[0].Terminating = true
		}), true, "PD: version too low for the data: v8.1.0 requested, and v8.5.2 has run on claim pd-t-pd-0"},
		{"the claim is of a member that is gone", onlyClaims(func(c *plantest.Cluster) {
			recorded(c.Member("t-pd-0"), "v8.5.2")
			c.Member("t-pd-0").Claims[0].Marked = true
		}), false, ""},
		{"suspended", onlyClaims(func(c *plantest.Cluster) {
			recorded(c.Member("t-pd-0"), "v8.5.2")
			c.Want(pd).Suspend, c.Want(tikv).Suspend, c.Want(tidb).Suspend = true, true, true
		}), false, ""},
		{"pods are there", onlyClaims(func(c *plantest.Cluster) {
			recorded(c.Member("t-pd-0"), "v8.5.2")
			c.Member("t-pd-0").Pod = &state.Pod{UID: "x", Ready: true, Ran: true}
		}), false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.cluster.Decide()
			var said string
			for _, g := range p.Gates {
				if g.Blocked {
					said += g.String()
				}
			}
			for _, g := range p.Gates {
				const help = "go on with the data: kubectl tidb upgrade t v8.5.2 -n ns; " +
					"or delete the cluster and its data, then create it with empty volumes: kubectl tidb delete t --delete-pvcs -n ns"
				if got := g.Remedy.Line(""); g.Reason == plan.VersionReadsData && got != help {
					t.Errorf("what a person can do: got %s, want %s", got, help)
				}
			}
			if said != c.says {
				t.Errorf("says %q, want %q", said, c.says)
			}
			made := strings.Contains(plantest.Text(p), "StatefulSet t-pd") || strings.Contains(plantest.Text(p), "StatefulSet t-tikv")
			if c.blocked && strings.HasPrefix(c.says, "PD") && made {
				t.Errorf("the StatefulSet is created:\n%s", plantest.Text(p))
			}
		})
	}
}

// TestKept: for each component, the data that its members would start on, by the versions that are
// recorded. Releases come together, then versions that are no releases, then data without a record.
func TestKept(t *testing.T) {
	stores := func(records ...string) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) {
			for i, record := range records {
				m := c.Member(c.Wanted.Cluster.PodName(tikv, i))
				if m.Claims[0].Identity = (state.Identity{}); record != "" {
					recorded(m, record)
				}
			}
		}
	}
	const one, zero, both = "claim tikv-t-tikv-1", "claim tikv-t-tikv-0", "claims tikv-t-tikv-0 and tikv-t-tikv-1"
	for name, tc := range map[string]struct {
		change func(c *plantest.Cluster)
		want   string
	}{
		"releases":                            {stores("v8.0.0", "v7.5.0"), "v8.0.0: " + both},
		"releases, the higher one comes last": {stores("v7.5.0", "v8.0.0"), "v8.0.0: " + both},
		"one has no record":                   {stores("v8.1.0", ""), "v8.1.0: " + zero + "; unknown : " + one},
		"none has a record":                   {stores("", ""), "unknown : " + both},
		"one is no release":                   {stores("nightly", "v8.0.0"), "v8.0.0: " + one + "; unknown nightly: " + zero},
		"one is no release, the other one has no record": {stores("", "nightly"), "unknown nightly: " + one + "; unknown : " + zero},
		"no release is wanted, and it has run last": {func(c *plantest.Cluster) {
			stores("v8.5.2 nightly", "v8.5.2 nightly")(c)
			c.Want(tikv).Version = "nightly"
		}, "nightly: " + both},
		"no release is wanted, and another one has run": {func(c *plantest.Cluster) {
			stores("v8.5.2 master", "v8.5.2 master")(c)
			c.Want(tikv).Version = "nightly"
		}, "unknown v8.5.2: " + both + "; unknown master: " + both},
		"it is not known which version is wanted": {func(c *plantest.Cluster) { c.Want(tikv).Version = "" }, "unknown v8.1.0: " + both},
		"many": {func(c *plantest.Cluster) {
			m := c.Member("t-tikv-0")
			m.Claims = append(m.Claims, m.Claims[0], m.Claims[0])
			m.Claims[1].Name, m.Claims[2].Name = "log", "raft"
		}, "v8.1.0: claims tikv-t-tikv-0 and 3 others"},
		"suspended":              {func(c *plantest.Cluster) { c.Want(tikv).Suspend = true }, ""},
		"the StatefulSet exists": {func(c *plantest.Cluster) { c.Set(tikv, func(s *state.Set) { s.Exists = true }) }, ""},
		"a pod is there":         {func(c *plantest.Cluster) { c.Member("t-tikv-0").Pod = &state.Pod{UID: "x"} }, ""},
		"servers keep nothing": {func(c *plantest.Cluster) {
			c.Member("t-tidb-0").Claims = []state.Claim{{Name: "log-t-tidb-0"}}
		}, "v8.1.0: " + both},
	} {
		c := onlyClaims(tc.change)
		var got []string
		for _, d := range facts.Kept(c.Wanted, c.Seen) {
			if d.Component == pd && d.Ran == "v8.1.0" {
				continue // it is the same in all cases
			}
			text := d.Ran + ": " + d.Some()
			if !d.Known() {
				text = "unknown " + text
			}
			if d.Component != tikv {
				text = string(d.Component) + ": " + text
			}
			got = append(got, text)
		}
		if got := strings.Join(got, "; "); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

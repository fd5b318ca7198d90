package plan_test

import (
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

func TestLostMembers(t *testing.T) {
	c := failing(func(c *plantest.Cluster) {
		lost(c, time.Hour, "t-pd-1")
		lost(c, 31*time.Minute, "t-tikv-1")
		lost(c, time.Minute, "t-tidb-0")
		given(c, "t-tidb-0", time.Minute)
		lost(c, time.Minute, "t-tidb-2")
		c.Member("t-tidb-2").Pod.Node = ""
	})
	got := map[string]plan.LostMember{}
	for _, k := range plan.LostMembers(component.Profiles(), c.Policy, c.Wanted, c.Seen) {
		got[k.Member.Name] = k
	}
	if len(got) != 4 {
		t.Fatalf("got %d: %+v", len(got), got)
	}
	if k := got["t-pd-1"]; k.Spared != "" || !k.Since.Equal(plantest.Now.Add(-time.Hour)) || !k.Due.Equal(plantest.Now.Add(-55*time.Minute)) {
		t.Errorf("%+v", k)
	}
	if k := got["t-tikv-1"]; k.Spared != "" || !k.Due.Equal(plantest.Now.Add(4*time.Minute)) {
		t.Errorf("%+v", k)
	}
	if k := got["t-tidb-0"]; k.Record == nil || k.Trouble == "" || k.Spared != "" || !k.Due.IsZero() {
		t.Errorf("%+v", k)
	}
	if k := got["t-tidb-2"]; k.Spared == "" {
		t.Errorf("%+v", k)
	}
}

// A member whose certificate had expired reads the renewed certificate a while after its issue. So the time of the
// member begins then.
func TestCertificateRenewed(t *testing.T) {
	c := failing(func(c *plantest.Cluster) {
		lost(c, time.Hour, "t-pd-1")
		lost(c, time.Hour, "t-tikv-1")
		issued := plantest.Now.Add(-time.Minute)
		c.Seen.Certificates = map[string]certificate.Secret{"t-pd-cluster-secret": {Leaf: &x509.Certificate{NotBefore: issued}}}
	})
	due := map[string]time.Time{}
	for _, k := range plan.LostMembers(component.Profiles(), c.Policy, c.Wanted, c.Seen) {
		due[k.Member.Name] = k.Due
	}
	if want := plantest.Now.Add(4 * time.Minute); !due["t-pd-1"].Equal(want) {
		t.Errorf("the member of PD is given up at %s, want %s", due["t-pd-1"], want)
	}
	if due["t-tikv-1"].After(plantest.Now) {
		t.Errorf("the store is given up at %s only, though its certificate was not renewed", due["t-tikv-1"])
	}
}

// A store may crash again and again because PD does not serve. PD receives no heartbeats before it
// serves. So the store counts as down since PD serves, at the earliest. (seed 1795365302242)
func TestCrashedWithoutPD(t *testing.T) {
	const s, m = time.Second, time.Minute
	for name, tc := range map[string]struct {
		member    string
		restarted []string // members of PD, ten minutes ago
		unwell    []string // members of PD that run and are not healthy
		elsewhere int
		since     time.Duration
	}{
		"PD has always served":                 {"t-tikv-1", nil, nil, 0, 50 * m},
		"one of PD has started since":          {"t-tikv-1", []string{"t-pd-0"}, nil, 0, 50 * m},
		"most of PD have started since":        {"t-tikv-1", []string{"t-pd-0", "t-pd-2"}, nil, 0, 10 * m},
		"one of PD does not serve":             {"t-tikv-1", nil, []string{"t-pd-2"}, 0, 50 * m},
		"most of PD are elsewhere":             {"t-tikv-1", []string{"t-pd-0", "t-pd-1", "t-pd-2"}, nil, 4, 50 * m},
		"it is one of PD, which always served": {"t-pd-1", nil, nil, 0, 50 * m},
		"it is one of PD, others have started": {"t-pd-1", []string{"t-pd-0"}, nil, 0, 10 * m},
	} {
		c := failing(func(c *plantest.Cluster) {
			crashed(c, tc.member, 20, 80*m, 5*s, 160*s, 0)
			for _, pd := range tc.unwell {
				c.Down(10*m, pd).Member(pd).Pod.Started = plantest.Now.Add(-5 * m)
			}
			for _, pd := range tc.restarted {
				c.Member(pd).Pod.Started = plantest.Now.Add(-10 * m)
			}
			c.Seen.PD.Members, c.Seen.PD.Healthy = c.Seen.PD.Members+tc.elsewhere, c.Seen.PD.Healthy+tc.elsewhere
			c.Member(tc.member).Database.Since = plantest.Now.Add(-50 * m)
		})
		all := plan.LostMembers(component.Profiles(), c.Policy, c.Wanted, c.Seen)
		i := slices.IndexFunc(all, func(k plan.LostMember) bool { return k.Member.Name == tc.member })
		if i < 0 || plantest.Now.Sub(all[i].Since) != tc.since || len(all) != 1+len(tc.unwell) {
			t.Errorf("%s: %+v, want %s since %s", name, all, tc.member, tc.since)
		}
	}
}

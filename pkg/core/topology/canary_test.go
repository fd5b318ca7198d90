package topology

import (
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// watched returns a TidbCluster with a canary.
func watched(canary string, change func(*v1alpha1.TidbCluster)) *v1alpha1.TidbCluster {
	one := int32(1)
	tc := &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{
		Version: "v8.1.1",
		PD:      &v1alpha1.PDSpec{BaseImage: "pingcap/pd", Replicas: 3},
		TiKV:    &v1alpha1.TiKVSpec{BaseImage: "pingcap/tikv", Replicas: 4, MaxFailoverCount: &one},
		TiDB:    &v1alpha1.TiDBSpec{BaseImage: "pingcap/tidb", Replicas: 1},
	}}
	SetCanary(tc, canary)
	change(tc)
	return tc
}

func same0(*v1alpha1.TidbCluster) {}

// TestCanary: what the annotation means for the components. One that cannot be followed holds all of them.
func TestCanary(t *testing.T) {
	for _, c := range []struct {
		text, held, problem string
	}{
		{"", "", ""},
		{"tikv=1", "tikv=1", ""},
		{"tikv=9", "tikv=9", ""}, // replicas may have changed since: one member stays
		{"tikv", "pd=0 tikv=0 tidb=0", `"tikv" is no component and number of members, such as tikv=1`},
		{"tikv=", "pd=0 tikv=0 tidb=0", "is no component and number"},
		{"tikv=one", "pd=0 tikv=0 tidb=0", "is no component and number"},
		{"tikv=0", "tikv=0", ""},
		{"tikv=-1", "pd=0 tikv=0 tidb=0", "a canary has 0 members or more"},
		{"store=1", "pd=0 tikv=0 tidb=0", `there is no component "store"`},
		{"tiflash=1", "pd=0 tikv=0 tidb=0", "the cluster has no TiFlash"},
		{"tikv=1,tidb=1", "pd=0 tikv=0 tidb=0", "is no component and number"},
	} {
		is := New(watched(c.text, same0))
		var held []string
		for _, g := range is.Groups {
			if g.Held {
				held = append(held, Canary{g.Kind, g.Canary}.String())
			}
		}
		if got := strings.Join(held, " "); got != c.held || (is.CanaryProblem == "") != (c.problem == "") || !strings.Contains(is.CanaryProblem, c.problem) {
			t.Errorf("%q: held %q, %q; want %q, %q", c.text, got, is.CanaryProblem, c.held, c.problem)
		}
	}
}

// TestCanaryIsRefused: a canary that would hold nothing or everything is not written; one that is there is
// no reason to refuse another change.
func TestCanaryIsRefused(t *testing.T) {
	none := New(watched("", same0))
	for _, c := range []struct {
		text   string
		change func(*v1alpha1.TidbCluster)
		says   string
	}{
		{"tikv=1", same0, ""},
		{"tikv=3", same0, ""},
		{"tikv=0", same0, ""},
		{"tidb=0", same0, ""},
		{"tikv=4", same0, "TiKV has 4 members, and at least one has to wait: ask for 3 or fewer"},
		{"tidb=1", same0, "TiDB has one member"},
		{"tikv=x", same0, "is no component and number of members"},
		{"tikv=1", func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.StatefulSetUpdateStrategy = "OnDelete" }, "is OnDelete, so you restart its members yourself"},
		{"tikv=1", func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiKV.SuspendAction = &v1alpha1.SuspendAction{SuspendStatefulSet: true}
		}, "TiKV is suspended"},
	} {
		want := New(watched(c.text, c.change))
		for _, was := range []*Cluster{&none, nil} {
			errs := validateCanary(was, want)
			if c.says == "" && len(errs) > 0 || c.says != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), c.says)) {
				t.Errorf("%s: %v, want %q", c.text, errs, c.says)
			}
		}
		if errs := validateCanary(&want, want); len(errs) > 0 {
			t.Errorf("%s, which was there: %v", c.text, errs)
		}
	}
}

// TestCanaryStays: a change beside a canary says that it stops there as well.
func TestCanaryStays(t *testing.T) {
	was := New(watched("tikv=1", same0))
	next := func(tc *v1alpha1.TidbCluster) { tc.Spec.Version = "v8.1.2" }
	for name, c := range map[string]struct {
		to   *v1alpha1.TidbCluster
		says int
	}{
		"another version":                {watched("tikv=1", next), 1},
		"no change":                      {watched("tikv=1", same0), 0},
		"another version and canary":     {watched("tikv=2", next), 0},
		"another version, and no canary": {watched("", next), 0},
	} {
		if got := canaryWarnings(&was, New(c.to)); len(got) != c.says {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := canaryWarnings(nil, was); len(got) > 0 {
		t.Errorf("a new cluster: %v", got)
	}
}

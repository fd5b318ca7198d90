package render

import (
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func TestScriptFits(t *testing.T) {
	plugins := func(list ...string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Plugins = list }
	}
	arguments := func(list ...string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Arguments = list }
	}
	v2 := func(tc *v1alpha1.TidbCluster) { tc.Spec.StartScriptVersion = v1alpha1.StartScriptV2 }
	dir := func(d string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.DataSubDir = d }
	}
	domain := func(d string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) { tc.Spec.ClusterDomain = d }
	}
	dynamic := func(tc *v1alpha1.TidbCluster) {
		tc.Spec.EnableDynamicConfiguration = new(bool)
		*tc.Spec.EnableDynamicConfiguration = true
	}
	ipv6 := func(tc *v1alpha1.TidbCluster) { tc.Spec.PreferIPv6 = true }
	for name, tt := range map[string]struct {
		kind topology.Kind
		edit func(*v1alpha1.TidbCluster)
		text string
		fits bool
	}{
		"none":                {topology.TiKV, dir(""), "", false},
		"same directory":      {topology.TiKV, dir(""), "--addr=0.0.0.0:20160 --data-dir=/var/lib/tikv \\", true},
		"now a sub directory": {topology.TiKV, dir("x"), "--addr=0.0.0.0:20160 --data-dir=/var/lib/tikv \\", false},
		"no sub directory":    {topology.TiKV, dir(""), "--addr=0.0.0.0:20160 --data-dir=/var/lib/tikv/x", false},
		"another":             {topology.TiKV, dir("x"), "--addr=0.0.0.0:20160 --data-dir=/var/lib/tikv/xy", false},
		"advertised":          {topology.TiKV, dynamic, "--addr=0.0.0.0:20160 --data-dir=/var/lib/tikv", false},
		"no more advertised":  {topology.TiKV, dir(""), "--addr=0.0.0.0:20160 --advertise-status-addr=x --data-dir=/var/lib/tikv", false},
		"IPv6":                {topology.TiKV, ipv6, "--addr=0.0.0.0:20160 --data-dir=/var/lib/tikv", false},
		"domain":              {topology.TiDB, domain("a.b"), "--advertise-address=${X}.svc.a.b \\", true},
		"no domain yet":       {topology.TiDB, domain("a.b"), "--advertise-address=${X}.svc", false},
		"longer domain":       {topology.TiDB, domain("a.b"), "--advertise-address=${X}.svc.a.b.c", false},
		"plugins":             {topology.TiDB, plugins("a-1", "b-1"), "--plugin-load a-1,b-1 ", true},
		"fewer plugins":       {topology.TiDB, plugins("a-1"), "--plugin-load a-1,b-1 ", false},
		"no plugins":          {topology.TiDB, plugins(), "--plugin-load a-1", false},
		"arguments":           {topology.TiDB, arguments("--a", "--b"), "exec x --a --b\n", true},
		"other arguments":     {topology.TiDB, arguments("--a", "--c"), "exec x --a --b\n", false},
		"second generation":   {topology.TiDB, func(tc *v1alpha1.TidbCluster) { v2(tc); arguments("--a")(tc) }, "exec x\n", true},
	} {
		c := load(t, "basic", tt.edit)
		g, _ := c.Group(tt.kind)
		comp, err := descriptionOf(g.Kind).objects(c, g, nothing())
		if err != nil {
			t.Fatal(err)
		}
		if got := comp.script.startsAsWanted(tt.text); got != tt.fits {
			t.Errorf("%s: fits %t", name, got)
		}
	}
}

// Our own script names everything that it was made for.
func TestOwnScriptFits(t *testing.T) {
	made := scriptOf(t, load(t, "rich"), topology.TiDB)
	for name, tt := range map[string]struct {
		edit func(*v1alpha1.TidbCluster)
		fits bool
	}{
		"same":      {func(*v1alpha1.TidbCluster) {}, true},
		"arguments": {func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Arguments = tc.Spec.TiDB.Arguments[:1] }, false},
		"plugins":   {func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Plugins = nil }, false},
		"domain":    {func(tc *v1alpha1.TidbCluster) { tc.Spec.ClusterDomain = "" }, false},
	} {
		c := load(t, "rich", tt.edit)
		g, _ := c.Group(topology.TiDB)
		comp, err := descriptionOf(g.Kind).objects(c, g, nothing())
		if err != nil {
			t.Fatal(err)
		}
		// The script was reworded.
		if got := comp.script.startsAsWanted(made + "\n# reworded\n"); got != tt.fits {
			t.Errorf("%s: fits %t", name, got)
		}
	}
}

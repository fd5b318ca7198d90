package upkeep_test

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// recorded sets the version that a member's claim records.
func recorded(m *state.Member, version string) {
	m.Claims[0].Identity.Annotations = map[string]string{topology.LabelPodName: m.Name, topology.AnnotationRan: version}
}

// TestRecordVersions: a claim keeps the highest version that has run on it.
func TestRecordVersions(t *testing.T) {
	run := func(record, version string, change func(*state.Member)) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) {
			m := c.Member("t-tikv-1")
			if record != "" {
				recorded(m, record)
			}
			m.Pod.Version = version
			change(m)
		}
	}
	same := func(*state.Member) {}
	notReady := func(m *state.Member) { m.Pod.Ready = false }
	label := func(version string) string {
		return "label persistentvolumeclaim tikv-t-tikv-1: annotations kubectl-tidb/ran-version=" + version
	}
	upkeepOf(t, map[string]struct {
		change func(c *plantest.Cluster)
		want   string
	}{
		"no record yet":                     {run("", "v8.1.0", same), label("v8.1.0")},
		"a higher version":                  {run("v8.1.0", "v8.5.2", same), label("v8.5.2")},
		"the same":                          {run("v8.5.2", "v8.5.2", same), ""},
		"a lower version":                   {run("v8.5.2", "v8.1.0", same), ""},
		"no release":                        {run("", "nightly", same), label("nightly")},
		"no release after one":              {run("v8.5.2", "nightly", same), label("v8.5.2 nightly")},
		"again no release":                  {run("v8.5.2 nightly", "master", same), label("v8.5.2 master")},
		"the same that is no release":       {run("v8.5.2 nightly", "nightly", same), ""},
		"after what is no release":          {run("nightly", "v8.5.2", same), label("v8.5.2")},
		"a lower one after both":            {run("v8.5.2 nightly", "v8.1.0", same), label("v8.5.2")},
		"a higher one after both":           {run("v8.5.2 nightly", "v9.0.0", same), label("v9.0.0")},
		"it cannot read what is no release": {run("nightly", "v8.5.2", notReady), label("v8.5.2 nightly")},
		"nor can a lower one":               {run("v8.5.2 nightly", "v8.1.0", notReady), ""},
		"it has not run yet":                {run("v8.1.0", "v8.5.2", func(m *state.Member) { m.Pod.Ran = false }), ""},
		"the claim is another's":            {run("", "v8.1.0", func(m *state.Member) { m.Pod.Claims = nil }), ""},
		"claims without a database": {func(c *plantest.Cluster) {
			m := c.Member("t-tidb-1")
			m.Pod.Version, m.Pod.Claims, m.Claims = "v8.1.0", []string{"log"}, []state.Claim{{Name: "log", UID: "log"}}
		}, "label persistentvolumeclaim log: tidb.pingcap.com/cluster-id=7, tidb.pingcap.com/pod-name=t-tidb-1, annotations tidb.pingcap.com/pod-name=t-tidb-1"},
	})
}

package plan_test

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestReportedVersions: a cluster whose members report another release than the one that is asked for has not
// converged.
func TestReportedVersions(t *testing.T) {
	for name, c := range map[string]struct {
		asked, reported string
		converged       bool
	}{
		"the same":                      {"v8.1.0", "8.1.0", true},
		"another build of it":           {"v8.1.0-local", "v8.1.0", true},
		"it reports none":               {"v8.1.0", "", true},
		"an older one":                  {"v8.1.1", "8.1.0", false},
		"a newer one":                   {"v8.1.0", "8.1.1", false},
		"the image's tag is no release": {"nightly", "9.0.0", true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := plantest.New(3, 3, 1)
			cluster.Want(topology.TiKV).Version = c.asked
			cluster.Member("t-tikv-1").Database.Version = c.reported
			got := cluster.Decide()
			if (got.Outcome == plan.Converged) != c.converged {
				t.Errorf("%v", got)
			}
			if text := plantest.Text(got); !c.converged && !strings.Contains(text, "t-tikv-1: another version reported") {
				t.Errorf("%s", text)
			}
		})
	}
}

package facts

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestRanByReport: what a process reports is the version that its data has seen, also where the image has no tag.
func TestRanByReport(t *testing.T) {
	for name, c := range map[string]struct {
		tag, reported, before, want string
	}{
		"the tag":                          {"v8.1.0", "", "", "v8.1.0"},
		"no tag":                           {"", "8.1.1", "", "v8.1.1"},
		"no tag, and nothing is reported":  {"", "", "", ""},
		"the same, and a record":           {"", "", "v8.1.0", "v8.1.0"},
		"a lower tag":                      {"v8.1.0", "8.1.1", "", "v8.1.1"},
		"a tag that is no release":         {"nightly", "9.0.0", "", "v9.0.0"},
		"a higher record":                  {"v8.1.0", "8.1.0", "v8.5.0", "v8.5.0"},
		"a record of an earlier version":   {"", "8.1.1", "latest", "v8.1.1"},
		"no tag, over a record of a build": {"", "8.1.1", "nightly", "v8.1.1"},
	} {
		claim := state.Claim{Name: "tikv-t-tikv-0"}
		if c.before != "" {
			claim.Identity.Annotations = map[string]string{topology.AnnotationRan: c.before}
		}
		m := state.Member{
			Pod:      &state.Pod{Ready: true, Ran: true, Version: c.tag, Claims: []string{claim.Name}},
			Database: state.Database{Presence: state.Present, Healthy: true, Version: c.reported},
		}
		if got := (Component{Want: &desired.Group{Group: topology.Group{Kind: topology.TiKV}}}).Ran(m, claim); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

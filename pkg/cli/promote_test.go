package cli

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestPromote: a canary is promoted where there is one, and asked for where it would hold a rollout; everything
// else is refused with what to do, and nothing is changed.
func TestPromote(t *testing.T) {
	plain := func() map[string]any { return tidbcluster("basic") }
	held := func() map[string]any {
		tc := plain()
		tc["metadata"].(map[string]any)["annotations"] = map[string]any{topology.AnnotationCanary: "tikv=1"}
		return tc
	}
	with := func(tc map[string]any, field string, value any) map[string]any {
		component(tc["spec"].(map[string]any), "tikv")[field] = value
		return tc
	}
	paused := func() map[string]any {
		tc := held()
		tc["spec"].(map[string]any)["paused"] = true
		return tc
	}
	for _, c := range []struct {
		name, args string
		cluster    map[string]any
		code       int
		says       string
	}{
		{"dry run", "promote basic --dry-run=client", held(), 0, "promote tikv=1"},
		{"no canary", "promote basic", plain(), 3, "has no canary to promote; nothing was changed; what is under way goes on with: kubectl tidb sync basic"},
		{"the same canary", "promote basic --canary tikv=1", held(), 2, "is tikv=1 already"},
		{"as many as there are", "promote basic --canary tikv=3", held(), 3, "TiKV has 3 members, and at least one has to wait"},
		{"paused", "promote basic", paused(), 6, "end the pause: kubectl tidb resume basic"},
		{"no number", "upgrade basic v8.1.1 --canary tikv", plain(), 2, `"tikv" is no component and number of members, such as tikv=1`},
		{"fewer than none", "upgrade basic v8.1.1 --canary tikv=-1", plain(), 2, "0 members or more"},
		{"no such component", "upgrade basic v8.1.1 --canary store=1", plain(), 2, `there is no component "store"`},
		{"not in the cluster", "upgrade basic v8.1.1 --canary tiflash=1", plain(), 3, "the cluster has no TiFlash"},
		{"all", "upgrade basic v8.1.1 --canary tikv=3", plain(), 3, "ask for 2 or fewer"},
		{"OnDelete", "upgrade basic v8.1.1 --canary tikv=1", with(plain(), "statefulSetUpdateStrategy", "OnDelete"), 3, "is OnDelete"},
		{"nothing to restart", "restart basic pd --canary tikv=1", plain(), 3, "no member of TiKV has to be restarted, so none would be held"},
		{"what PD keeps itself", "config set basic pd schedule.leader-schedule-limit=8 --canary pd=1", plain(), 2, "does not go with --canary"},
		{"no name", "promote", held(), 2, "accepts 1 arg"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := kept(t, "", map[string]any{tidbclusters + "/basic": c.cluster, "GET " + tidbclusters: clusterList(c.cluster)})
			s.answers["/api/v1/namespaces/default/persistentvolumeclaims"] = map[string]any{"items": []any{}}
			r := s.call(t, strings.Fields(c.args)...)
			if said := r.out + r.err; r.code != c.code || !strings.Contains(strings.ReplaceAll(said, "--server "+s.URL+" ", ""), c.says) {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, %q", r.code, r.out, r.err, c.code, c.says)
			}
			for _, asked := range s.requests() {
				if !strings.HasPrefix(asked, "GET ") && !strings.Contains(asked, "dryRun=All") {
					t.Errorf("changed something: %s", asked)
				}
			}
		})
	}
}

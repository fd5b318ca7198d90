package cli

import (
	"strings"
	"testing"
)

// TestChangeUnderway: a change that is made before an earlier one is carried out says so, and by which command that one
// was asked for. What changes nothing, or takes the earlier change back, does not.
func TestChangeUnderway(t *testing.T) {
	scaled := changedCluster(t, "scale tikv=4", `{"tikv":{"replicas":3}}`, func(spec map[string]any) { component(spec, "tikv")["replicas"] = 4 })
	const says = `an earlier change is not carried out yet: PD: 3 members of v8.1.0; TiKV: 4 members of v8.1.0 ` +
		`(asked for by "scale tikv=4" of 2026-03-01T12:00:00Z); both changes are carried out together`
	for args, want := range map[string]bool{
		"scale basic tikv=5 --dry-run=client":                true,
		"scale basic tikv=5 --dry-run=client -o json":        true,
		"upgrade basic v8.1.1 --dry-run=client":              true,
		"restart basic tikv --dry-run=client":                true,
		"scale basic tikv=4 --dry-run=client":                false,
		"sync basic --dry-run=client":                        false,
		"rollback basic --dry-run=client":                    false,
		"restart basic tikv-1 --dry-run=client --timeout=1m": false, // it has no pod, so nothing is written
	} {
		s := kept(t, "", map[string]any{tidbclusters + "/basic": scaled, "GET " + tidbclusters: clusterList(scaled)})
		s.answers["/api/v1/namespaces/default/persistentvolumeclaims"] = map[string]any{"items": []any{}}
		r := s.call(t, strings.Fields(args)...)
		said := strings.ReplaceAll(r.out+r.err, `\"`, `"`)
		if r.code != 0 || strings.Contains(said, says) != want || strings.Contains(args, "json") && !strings.Contains(said, `"reason":"ChangeUnderway"`) {
			t.Errorf("%s: exit code %d, %q", args, r.code, said)
		}
	}
}

package intent

import (
	"slices"
	"strings"
	"testing"
)

func TestLost(t *testing.T) {
	const head = "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nmetadata: {name: basic}\nspec:\n"
	for _, tt := range []struct {
		name, spec string
		want       []string // the fields that are reported
	}{
		{"no config", "  tidb: {replicas: 1}\n", nil},
		{"known keys", "  pd: {config: {log: {level: info}, replication: {max-replicas: 5, location-labels: [zone]}}}\n  tikv: {config: {log-level: info, raftstore: {sync-log: true}}}\n  tidb: {config: {log: {level: info, file: {max-size: 3}}}}\n", nil},
		{"tidb-B3a: unknown keys", "  tidb: {config: {new-switch: true, log: {level: info, new-log: 1}}}\n", []string{"spec.tidb.config[log.new-log]", "spec.tidb.config[new-switch]"}},
		{"tidb-B3a: an unknown table", "  tikv: {config: {new: {a: 1, b: {c: 2}}}}\n", []string{"spec.tikv.config[new.a]", "spec.tikv.config[new.b.c]"}},
		{"tidb-B3a: of PD", "  pd: {config: {new: 1}}\n", []string{"spec.pd.config[new]"}},
		{"as text", "  tidb: {config: \"new-switch = true\"}\n", nil},
		{"nothing in it", "  tidb: {config: {new: {}, newer: null}}\n", nil},
	} {
		all, _, err := parse([]byte(head + tt.spec))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := all[0].Lost()
		ok := slices.EqualFunc(got, tt.want, func(text, field string) bool {
			return strings.HasPrefix(text, field+" has no effect") && strings.Contains(text, "TOML")
		})
		if !ok {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

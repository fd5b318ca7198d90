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
		{"known keys of optional components", "  tiflash: {config: {config: {logger: {level: info}, path_realtime_mode: false, profiles: {default: {max_memory_usage: 0}}}, " +
			"proxy: {log-level: info, server: {grpc-concurrency: 4}}}}\n  ticdc: {config: {timezone: UTC, gcTTL: 60, logLevel: info}}\n" +
			"  tiproxy: {config: {proxy: {max-connections: 10}, log: {level: info}}}\n", nil},
		{"keys with another name in TOML", "  pd: {config: {schedule: {schedulers-v2: [{type: hot-region}]}, tikv-interval: 1s}}\n", nil},
		{"unknown keys of TiFlash", "  tiflash: {config: {config: {new: 1}, proxy: {log-level: info, newer: {a: 1}}}}\n",
			[]string{"spec.tiflash.config.config[new]", "spec.tiflash.config.proxy[newer.a]"}},
		{"of TiProxy and TiCDC", "  tiproxy: {config: {new: 1}}\n  ticdc: {config: {newer: 1}}\n",
			[]string{"spec.ticdc.config[newer]", "spec.tiproxy.config[new]"}},
		{"TiFlash as text", "  tiflash: {config: {config: \"new = 1\"}}\n", nil},
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

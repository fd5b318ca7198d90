package e2e

import (
	"maps"
	"testing"
)

// TestAllComponents takes a cluster of PD, TiKV, TiFlash, TiDB, TiProxy and TiCDC through its life, with
// TLS everywhere. TiFlash is a store with its label, TiProxy and TiCDC are stand-ins.
func TestAllComponents(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-all")
	s.sql.TLS = true
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	step("create", func(t *testing.T) {
		s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tls",
			"--tiflash", "2", "--tiproxy", "1", "--tiproxy-version", "v1.0.0", "--ticdc", "1")
		s.wantUp(t, map[string]int{"pd": 3, "tikv": 3, "tiflash": 2, "tidb": 2, "tiproxy": 1, "ticdc": 1})
	})
	step("upgrade", func(t *testing.T) {
		s.tidb(t, 0, "upgrade", cluster, to, "--tiproxy-version", "v1.1.0")
		s.wantUp(t, map[string]int{"pd": 3, "tikv": 3, "tiflash": 2, "tidb": 2, "tiproxy": 1, "ticdc": 1})
	})
	step("scale", func(t *testing.T) {
		s.tidb(t, 0, "scale", cluster, "tiflash=1", "tiproxy=2", "ticdc=2")
		s.wantUp(t, map[string]int{"pd": 3, "tikv": 3, "tiflash": 1, "tidb": 2, "tiproxy": 2, "ticdc": 2})
	})
}

// wantUp asserts that the cluster has converged, with so many members of each component.
func (s environment) wantUp(t *testing.T, want map[string]int) {
	t.Helper()
	got, up := s.look(t), map[string]int{}
	for _, m := range got.Members {
		if m.Up && m.Updated {
			up[m.Component]++
		}
	}
	if !maps.Equal(up, want) {
		t.Errorf("up and updated: %v, want %v; outcome %q", up, want, got.Outcome)
		s.logState(t)
	}
}

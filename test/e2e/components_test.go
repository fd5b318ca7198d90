package e2e

import "testing"

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
	old := release{all: from, own: map[string]string{"tiproxy": "v1.0.0"}}
	next := release{all: to, own: map[string]string{"tiproxy": "v1.1.0"}}
	step("create", func(t *testing.T) {
		s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tls",
			"--tiflash", "2", "--tiproxy", "1", "--tiproxy-version", old.own["tiproxy"], "--ticdc", "1")
		s.wantMembers(t, map[string]int{"pd": 3, "tikv": 3, "tiflash": 2, "tidb": 2, "tiproxy": 1, "ticdc": 1}, old)
	})
	step("upgrade", func(t *testing.T) {
		s.tidb(t, 0, "upgrade", cluster, to, "--tiproxy-version", next.own["tiproxy"])
		s.wantMembers(t, map[string]int{"pd": 3, "tikv": 3, "tiflash": 2, "tidb": 2, "tiproxy": 1, "ticdc": 1}, next)
	})
	step("scale", func(t *testing.T) {
		s.tidb(t, 0, "scale", cluster, "tiflash=1", "tiproxy=2", "ticdc=2")
		s.wantMembers(t, map[string]int{"pd": 3, "tikv": 3, "tiflash": 1, "tidb": 2, "tiproxy": 2, "ticdc": 2}, next)
	})
}

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// services is a cluster whose timestamps come from TSO. PD, and its services, are real. There is no TiDB: the store is a
// stand-in whose first regions PD does not know at once where Scheduling moves regions, and TiDB does not start then.
const services = `
  pd:
    mode: ms
    replicas: 1
    requests: {storage: 1Gi}
  pdms:
  - name: tso
    replicas: 2
  - name: scheduling
    replicas: 1
  tikv:
    replicas: 1
    requests: {storage: 1Gi}
`

// TestMicroservices takes services of PD through their life: they are made with the cluster, restarted, scaled, and
// upgraded after PD. The release of PD is one that cannot move a primary.
func TestMicroservices(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-pdms")
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	step("create", func(t *testing.T) {
		s.apply(t, services)
		s.wantServices(t, 2)
	})
	step("restart", func(t *testing.T) {
		events := s.driven(t, 0, "restart", cluster, "tso")
		wantOrder(t, events, "restart basic-tso-1", "restart basic-tso-0")
		s.wantServices(t, 2)
	})
	step("scale out", func(t *testing.T) {
		s.tidb(t, 0, "scale", cluster, "tso=3")
		s.wantServices(t, 3)
	})
	step("scale in", func(t *testing.T) {
		s.tidb(t, 0, "scale", cluster, "tso=1", "--yes")
		s.wantServices(t, 1)
	})
	step("nobody gives timestamps", func(t *testing.T) {
		s.tidb(t, 3, "scale", cluster, "tso=0", "--yes")
		s.wantServices(t, 1)
	})
	step("upgrade", func(t *testing.T) {
		events := s.driven(t, 0, "upgrade", cluster, to, "--yes") // PD has one member
		wantOrder(t, events, "restart basic-pd-0", "restart basic-tso-0", "restart basic-scheduling-0", "restart basic-tikv-0")
		s.wantServices(t, 1)
	})
}

// wantOrder asserts that a run has taken steps in an order.
func wantOrder(t *testing.T, events []event.Event, order ...string) {
	t.Helper()
	at := -1
	for _, name := range order {
		i := slices.IndexFunc(events, func(e event.Event) bool { return strings.HasPrefix(e.Step, name) })
		if i <= at {
			t.Errorf("%s is not in this order: %s", name, texts(events))
		}
		at = i
	}
}

// wantServices asserts that the cluster has converged with so many members of TSO, which PD lists.
func (s environment) wantServices(t *testing.T, tso int) {
	t.Helper()
	got := s.look(t)
	up := map[string]int{}
	for _, m := range got.Members {
		if m.Up && m.Updated {
			up[m.Component]++
		}
	}
	if got.Outcome != "converged" || up["tso"] != tso || up["scheduling"] != 1 || up["tikv"] != 1 {
		t.Errorf("status: %s with %v up, want %d of TSO", got.Outcome, up, tso)
	}
}

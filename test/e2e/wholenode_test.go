package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// TestWholeNode has what all clusters of the node feel, so that it runs alone.
func TestWholeNode(t *testing.T) {
	s := newEnvironment(t, "e2e-whole-node")
	s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--pd", "1", "--tidb", "1")
	t.Run("API server restarted half-way", s.outage)
	t.Run("tidb-operator of another namespace", s.operatorElsewhere)
}

// outage: the API server goes away for some seconds in the middle of a scale-out.
func (s environment) outage(t *testing.T) {
	if !s.Local() {
		t.Skip("SKIPPED: only the local node's API server can be restarted")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := s.plugin.Start(ctx, "scale", cluster, "tikv=4", "-o", "json")
	defer run.Close()
	struck := false
	for e, err := range run.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if struck || e.Type != event.Finished || e.Component != "tikv" {
			continue
		}
		struck = true
		if err := s.Outage(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if code := run.Wait(); code != 0 || !struck {
		t.Fatalf("exit code %d; the API server went away: %t", code, struck)
	}
	s.wantConverged(t, 1, 4, 1, from)
	s.tidb(t, 0, "scale", cluster, "tikv=3")
	s.wantConverged(t, 1, 3, 1, from)
}

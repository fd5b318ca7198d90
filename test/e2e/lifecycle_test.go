package e2e

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

// TestLifecycle takes one cluster through its life, with a client that writes a
// row every 50 ms all the time.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	shared.init(t)
	if shared.plugin.Run(t.Context(), nil, "status", cluster).Code == 0 {
		shared.tidb(t, 0, "delete", cluster, "--delete-pvcs", "--yes")
	}
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	step("create", func(t *testing.T) {
		shared.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi")
		shared.wantConverged(t, 3, 3, 2, from)
	})
	db, err := shared.sql.Open("lifecycle")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	writer, err := workload.Start(context.WithoutCancel(t.Context()), db, "lifecycle", 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	step("nothing to do", shared.idle)
	step("bad input", testBadInput)
	step("paused", testPaused)
	step("kubectl wait", waitReady)
	for _, s := range []struct {
		args       string
		pd, kv, db int
	}{
		// Twice, since the second time the ordinal has a past in PD and a claim.
		{"tikv=4", 3, 4, 2}, {"tikv=3", 3, 3, 2}, {"tikv=4", 3, 4, 2}, {"tikv=3", 3, 3, 2},
		{"pd=4", 4, 3, 2}, {"pd=3", 3, 3, 2},
		{"pd=4", 4, 3, 2}, {"pd=3", 3, 3, 2},
		{"tidb=3", 3, 3, 3}, {"tidb=2", 3, 3, 2},
	} {
		step("scale "+s.args, func(t *testing.T) {
			shared.tidb(t, 0, "scale", cluster, s.args)
			shared.wantConverged(t, s.pd, s.kv, s.db, from)
		})
	}
	step("PD member lost with its data", memberLost)
	step("store lost with its data", storeLost)
	step("bad image, reverted", badImage)
	step("volumes", testVolumes)
	step("a canary, and single members", testCanary)
	step("upgrade, killed ten times", killed)
	account := writer.Stop()
	t.Log("the client's account:", account, account.Stalls)
	step("data", func(t *testing.T) {
		if err := account.Verify(t.Context(), db, "lifecycle"); err != nil {
			t.Error(err)
		}
	})
	step("delete keeps data", func(t *testing.T) {
		shared.tidb(t, 0, "delete", cluster, "--yes")
		shared.tidb(t, 0, "create", cluster, "--version", to, "--storage", "1Gi")
		if err := account.Verify(t.Context(), db, "lifecycle"); err != nil {
			t.Error(err)
		}
		shared.tidb(t, 0, "delete", cluster, "--yes", "--delete-pvcs")
	})
}

// idle: a sync of a cluster that has converged writes nothing.
func (s environment) idle(t *testing.T) {
	before := s.versions(t)
	s.tidb(t, 0, "sync", cluster)
	if after := s.versions(t); after != before {
		t.Errorf("sync wrote: StatefulSets were %s and are %s", before, after)
	}
}

// versions are those of StatefulSets as far as we write them. Their resource versions
// would also change with each pod that Kubernetes counts in their status.
func (s environment) versions(t *testing.T) (all string) {
	t.Helper()
	sets, err := s.Kube.AppsV1().StatefulSets(s.plugin.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets.Items {
		all += fmt.Sprintf("%s=%s/%d %v %v; ", s.Name, s.UID, s.Generation, s.Labels, s.Annotations)
	}
	return all
}

// until starts a driving verb and ends it by a signal once an event is seen, the
// first for which when says so. It is asked about all of them.
func (s environment) until(t *testing.T, sig syscall.Signal, when func(event.Event) bool, args ...string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := s.plugin.Start(ctx, append(args, "-o", "json")...)
	defer run.Close()
	seen := false
	for e, err := range run.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if !seen && e.Step != "" {
			t.Logf("%s: %s", e.Type, e.Step) // what there is to see if the one waited for never comes
		}
		if when(e) && !seen {
			seen = true
			t.Logf("%v at: %s %s %s", sig, e.Type, e.Step, e.Message)
			if err := run.Signal(sig); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !seen {
		t.Error("the event to send the signal at never came")
	}
	return run.Wait()
}

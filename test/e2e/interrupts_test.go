package e2e

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestInterrupts: whatever a run waits for when it is interrupted, it leaves no
// scheduler in PD and no record of one, and the next run goes on.
func TestInterrupts(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-interrupts")
	s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tidb", "1")
	interrupted := func(name string, when func(event.Event) bool, args ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			if code := s.until(t, syscall.SIGINT, when, args...); code != 130 {
				t.Errorf("exit code %d after Ctrl-C, want 130", code)
			}
			s.wantNothingOfOurs(t)
		})
		if t.Failed() {
			t.FailNow()
		}
	}

	s.patchCluster(t, `{"spec":{"tikv":{"nodeSelector":{"e2e":"no-such-node"}}}}`)
	interrupted("region leaders are evicted", func(e event.Event) bool {
		// A step that fails may have made its scheduler all the same: on a busy machine PD's answer comes too late.
		return (e.Type == event.Finished || e.Type == event.Failed) && e.Action == "EvictLeaders"
	}, "sync", cluster)
	interrupted("a store's pod has no place", func(e event.Event) bool {
		return (e.Type == event.Waiting || e.Type == event.Blocked) && strings.HasPrefix(e.Member, cluster+"-tikv-") &&
			strings.Contains(strings.ToLower(text(e)), "unschedulable")
	}, "sync", cluster)
	s.patchCluster(t, `{"spec":{"tikv":{"nodeSelector":null}}}`)
	s.tidb(t, 0, "sync", cluster)
	s.wantConverged(t, 3, 3, 1, from)

	s.tidb(t, 0, "scale", cluster, "tikv=4")
	s.awaitRegions(t, cluster+"-tikv-3") // a store without regions leaves at once
	interrupted("regions leave a store", func(e event.Event) bool {
		return e.Type == event.Finished && e.Action == "RemoveStore" // PD may have the store gone before a gate is reported
	}, "scale", cluster, "tikv=3")
	s.tidb(t, 0, "scale", cluster, "tikv=3")
	s.wantConverged(t, 3, 3, 1, from)

	s.patchCluster(t, `{"spec":{"pd":{"annotations":{"e2e":"interrupts"}}}}`)
	interrupted("PD's leader moves", func(e event.Event) bool {
		return e.Type == event.Started && e.Action == "MoveLeader"
	}, "sync", cluster)
	restarted := "" // who has led, at the latest
	interrupted("a member of PD is restarted", func(e event.Event) bool {
		if e.Type == event.Finished && e.Action == "Restart" {
			restarted = e.Member
		}
		return e.Type == event.Waiting && restarted != "" && e.Member == restarted
	}, "sync", cluster)
	s.tidb(t, 0, "sync", cluster)
	s.wantConverged(t, 3, 3, 1, from)
}

// awaitRegions waits until a store has regions, as PD knows it.
func (s environment) awaitRegions(t *testing.T, pod string) {
	t.Helper()
	client := s.pdClient()
	defer client.Close()
	poll(t, patience, "PD has put regions onto "+pod, func(ctx context.Context) bool {
		stores, err := client.Stores(ctx)
		return err == nil && slices.ContainsFunc(stores, func(store pd.Store) bool {
			return strings.HasPrefix(store.Address, pod+".") && store.RegionCount > 0
		})
	})
}

// wantNothingOfOurs asserts that neither PD nor the ledger has an eviction.
func (s environment) wantNothingOfOurs(t *testing.T) {
	t.Helper()
	s.wantNoSchedulers(t)
	ledger, err := s.Kube.CoreV1().ConfigMaps(s.plugin.Namespace).Get(t.Context(), cluster+"-ledger", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	for key, record := range ledger.Data {
		if strings.HasPrefix(key, "evict-leader.") {
			t.Errorf("the ledger still has %s: %s", key, record)
		}
	}
}

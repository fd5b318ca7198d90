package e2e

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// loseData takes a member away together with what it has on disk.
func loseData(t *testing.T, component, pod string) {
	t.Helper()
	core, now := shared.Kube.CoreV1(), int64(0)
	// The claim goes when its pod has gone; the pod that comes next gets a new one.
	if err := core.PersistentVolumeClaims(namespace).Delete(t.Context(), component+"-"+pod, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := core.Pods(namespace).Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
}

// memberLost: PD refuses a member that has lost its data, so the pod crashes for
// ever, and only a failover helps.
func memberLost(t *testing.T) {
	before := memberID(t, cluster+"-pd-1")
	loseData(t, "pd", cluster+"-pd-1")
	awaitDown(t, cluster+"-pd-1")
	shared.tidb(t, 0, "failover", cluster, "run", "--component", "pd", "--now")
	shared.wantConverged(t, 3, 3, 2, from)
	if after := memberID(t, cluster+"-pd-1"); after == before || after == 0 {
		t.Errorf("%s-pd-1 has member id %d, had %d", cluster, after, before)
	}
}

func memberID(t *testing.T, pod string) uint64 {
	t.Helper()
	client := shared.pdClient()
	defer client.Close()
	members, err := client.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members.Members {
		if strings.HasPrefix(m.Name, pod) {
			return m.ID
		}
	}
	return 0
}

// storeLost: a store that has lost its data is replaced, its remains are removed
// from PD, it starts again, and then the replacement goes.
func storeLost(t *testing.T) {
	pod := cluster + "-tikv-1"
	loseData(t, "tikv", pod)
	awaitDown(t, pod)
	if out := shared.tidb(t, 0, "failover", cluster).Stdout; !strings.Contains(out, pod) {
		t.Errorf("the list does not name %s:\n%s", pod, out)
	}
	shared.tidb(t, 3, "failover", cluster, "run", "--discard", cluster+"-pd-0")
	shared.tidb(t, 0, "failover", cluster, "run", "--component", "tikv", "--now", "--discard", pod, "--yes")
	if up := shared.upMembers(t, "tikv"); len(up) != 4 || !slices.Contains(up, pod) {
		t.Errorf("stores up: %v, want %s and its replacement among 4", up, pod)
	}
	shared.tidb(t, 0, "failover", cluster, "recover")
	shared.wantConverged(t, 3, 3, 2, from)
}

func (s environment) upMembers(t *testing.T, component string) []string {
	t.Helper()
	var up []string
	for _, m := range s.look(t).Members {
		if m.Component == component && m.Up {
			up = append(up, m.Name)
		}
	}
	return up
}

// awaitDown waits until the plugin sees that a member does not serve.
func awaitDown(t *testing.T, pod string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	component := strings.Split(strings.TrimPrefix(pod, cluster+"-"), "-")[0]
	for slices.Contains(shared.upMembers(t, component), pod) {
		select {
		case <-ctx.Done():
			t.Fatalf("%s is still up", pod)
		case <-time.After(time.Second):
		}
	}
}

// badImage: the first pod of an upgrade cannot start. The plugin says why, no
// other pod is restarted, and the way back works.
func badImage(t *testing.T) {
	const missing = "v8.1.9"
	code := shared.until(t, syscall.SIGINT, func(e event.Event) bool {
		return (e.Type == event.Waiting || e.Type == event.Blocked) &&
			strings.Contains(e.Observed, "image pingcap/pd:"+missing+" cannot be pulled")
	}, "upgrade", cluster, missing)
	if code != 130 {
		t.Fatalf("exit code %d after Ctrl-C, want 130", code)
	}
	if up := len(shared.upMembers(t, "pd")); up != 2 {
		t.Errorf("%d members of PD are up, want 2", up)
	}
	shared.tidb(t, 0, "upgrade", cluster, from)
	shared.wantConverged(t, 3, 3, 2, from)
}

// killed: the tool is killed ten times at random moments of an upgrade, and each
// time the same command goes on.
func killed(t *testing.T) {
	leaders := watchLeader(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	// What went before may have left little of the upgrade to do: all pods once more.
	again := []byte(`{"spec":{"pd":{"annotations":{"e2e":"killed"}},"tikv":{"annotations":{"e2e":"killed"}},"tidb":{"annotations":{"e2e":"killed"}}}}`)
	if _, err := shared.clusters().Patch(t.Context(), cluster, types.MergePatchType, again, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		pause, struck := time.Duration(rng.IntN(300))*time.Millisecond, false
		code := shared.until(t, syscall.SIGKILL, func(e event.Event) bool {
			leaders.hear(e)
			if struck || e.Type != event.Finished && e.Type != event.Started {
				return false
			}
			time.Sleep(pause) // a moment between two events
			struck = true
			return true
		}, "upgrade", cluster, to)
		if code == 0 {
			t.Fatalf("the upgrade was over before it was killed at kill %d", i+1)
		}
	}
	run := shared.plugin.Start(t.Context(), "upgrade", cluster, to, "-o", "json")
	defer run.Close()
	for e, err := range run.Events() {
		if err != nil {
			t.Fatal(err)
		}
		leaders.hear(e)
	}
	if code := run.Wait(); code != 0 {
		t.Fatalf("exit code %d of the upgrade that is not interrupted", code)
	}
	shared.wantConverged(t, 3, 3, 2, to)
	leaders.wantOneMoveEach(t)
}

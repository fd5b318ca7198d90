package wire

import (
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// setImage is a person who sets another image in a StatefulSet, as kubectl set image does.
func (w *World) setImage(k topology.Kind, image string) {
	w.changeSet(k, func(s *appsv1.StatefulSet) { putImage(s, k, image) })
}

func putImage(s *appsv1.StatefulSet, k topology.Kind, image string) {
	for i := range s.Spec.Template.Spec.Containers {
		if c := &s.Spec.Template.Spec.Containers[i]; c.Name == string(k) {
			c.Image = image
		}
	}
}

// TestImageByHand: a person has set an older image in the StatefulSet of TiKV. That is put back, and no store is
// restarted with that image.
func TestImageByHand(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.setImage(topology.TiKV, "pingcap/tikv:v7.5.0")
		before := len(w.requests)
		r := w.said(w.Command(t.Context(), "sync", "basic", "--yes"))
		if r.Code != 0 {
			t.Errorf("exit code %d", r.Code)
		}
		wantText(t, r.Out+r.Err, "kubectl-edit")
		wantNone(t, w.requests[before:], "DELETE", pods)
		wantNone(t, w.requests[before:], "POST", schedulers)
		set := w.set(topology.TiKV)
		for _, c := range set.Spec.Template.Spec.Containers {
			if strings.Contains(c.Image, "v7.5.0") {
				t.Errorf("the image is %s", c.Image)
			}
		}
	})
}

// TestChangedBeforeAWrite: the read with which a restart begins takes long to arrive, as when a laptop sleeps, and a
// person changes the StatefulSet meanwhile. The restart was decided for another template, so it does not open the
// partition.
func TestChangedBeforeAWrite(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		release, held := make(chan struct{}), false
		w.Faults.Held = func(r *http.Request) <-chan struct{} {
			if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/statefulsets/basic-tikv") || len(w.Model.Evicting()) == 0 || held {
				return nil
			}
			held = true
			return release
		}
		r := w.during(t.Context(), func() bool { return held }, func() {
			w.setImage(topology.TiKV, "pingcap/tikv:v7.5.0")
			w.Sleep(5 * time.Second) // its controller sees that
			close(release)
		}, "restart", "basic", "tikv", "--yes")
		if r.Code != 0 || !held {
			t.Errorf("exit code %d; a read was held: %t", r.Code, held)
		}
	})
}

// TestLeadersDoNotMove: a person has set PD's leader-schedule-limit to 0. PD accepts evictions and carries none out, so
// none is asked for, and the message names the limit.
func TestLeadersDoNotMove(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.Model.Stall(state.Scheduling{NoLeaders: true}, 3600)
		text, writes := w.attempt(t, 30*time.Second, "restart", "basic", "tikv", "--yes")
		wantText(t, text, "leader-schedule-limit")
		wantNone(t, writes, "DELETE", pods)
		wantNone(t, writes, "POST", schedulers)
	})
}

// TestRegionsDoNotMove: the same for the regions of a store that is to leave.
func TestRegionsDoNotMove(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 4, TiDB: 1}, func(t *testing.T, w *World) {
		w.Model.Stall(state.Scheduling{NoReplicas: true}, 3600)
		text, writes := w.attempt(t, 30*time.Second, "scale", "basic", "tikv=3", "--yes")
		wantText(t, text, "replica-schedule-limit")
		wantNone(t, writes, "DELETE", stores)
	})
}

// TestQuotaNotCounted: for some seconds the API server forbids a write, because it has not counted what the quota of
// the namespace covers. The write is tried again, and the run ends well.
func TestQuotaNotCounted(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		end, denied := time.Now().Add(10*time.Second), 0
		w.Faults.Denied = func(r *http.Request) string {
			if r.Method == http.MethodGet || !strings.HasSuffix(r.URL.Path, "/statefulsets/basic-tidb") || time.Now().After(end) {
				return ""
			}
			denied++
			return `statefulsets.apps "basic-tidb" is forbidden: status unknown for quota: all, resources: count/statefulsets.apps`
		}
		w.Must(t, 0, "scale", "basic", "tidb=2", "--yes")
		if denied == 0 {
			t.Error("no write was forbidden")
		}
	})
}

// TestOrdinalsBeginAtOne: ordinals of a StatefulSet that begin at 1 would make other members of replicas. The cluster
// is refused with the field, and nothing is changed.
func TestOrdinalsBeginAtOne(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.changeSet(topology.TiKV, func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 1} })
		text, writes := w.attempt(t, 30*time.Second, "scale", "basic", "tikv=4", "--yes")
		wantText(t, text, "spec.ordinals.start")
		wantNone(t, writes, "PATCH", "/persistentvolumeclaims/")
		wantNone(t, writes, "PUT", "/statefulsets/")
		wantNone(t, writes, "PATCH", "/statefulsets/")
	})
}

// TestSuspendedDuringMaintenance: a node is under maintenance, and a person asks for a suspension. Members on other
// nodes do not end before the maintenance.
func TestSuspendedDuringMaintenance(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 2}, func(t *testing.T, w *World) {
		w.Must(t, 0, "maintenance", "start", "node-1", "--yes")
		w.changeCluster(func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, true, "spec", "tidb", "suspendAction", "suspendStatefulSet")
		})
		text, writes := w.attempt(t, 30*time.Second, "sync", "basic", "--yes")
		wantText(t, text, "node-1")
		wantNone(t, writes, "DELETE", "/statefulsets/")
	})
}

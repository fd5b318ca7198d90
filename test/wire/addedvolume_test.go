package wire

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestAddedVolume: a person makes a StatefulSet again with a volume more, and keeps its pods. A store that loses its pod is
// not made again, because Kubernetes first tries to give the volume to a pod below. So the plugin adds no volume.
func TestAddedVolume(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 4, TiDB: 1}, func(t *testing.T, w *World) {
		w.changeSet(topology.TiKV, func(s *appsv1.StatefulSet) {
			wal := s.Spec.VolumeClaimTemplates[0].DeepCopy()
			wal.Name = "tikv-wal"
			s.Spec.VolumeClaimTemplates = append(s.Spec.VolumeClaimTemplates, *wal)
		})
		w.Sleep(10 * time.Second)
		w.Model.DeletePod(string(w.pods(topology.TiKV)[3].UID), false)
		w.kube.Show()
		w.Sleep(5 * time.Minute)
		if n := len(w.pods(topology.TiKV)); n != 3 {
			t.Errorf("%d stores have pods", n)
		}
		w.changeSet(topology.TiKV, func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates = s.Spec.VolumeClaimTemplates[:1] })
		w.Sleep(5 * time.Minute)
		w.Must(t, 0, "sync", "basic", "--yes")
	})
}

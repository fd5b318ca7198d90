package kubernetes

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// update changes the StatefulSet of a component.
func (w *world) update(k topology.Kind, change func(*appsv1.StatefulSet)) {
	s := w.set(k)
	change(s)
	if _, err := w.kube.AppsV1().StatefulSets(Namespace).Update(w.Context(), s, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

func partition(n int32) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &n}
	}
}

// uids returns the UIDs of the first pods of a component, "" for one that is not there.
func (w *world) uids(k topology.Kind, n int) []types.UID {
	var all []types.UID
	for i := range n {
		uid := types.UID("")
		if p := w.pod(w.cluster.PodName(k, i)); p != nil {
			uid = p.UID
		}
		all = append(all, uid)
	}
	return all
}

// TestRoll: a new template restarts pods from the partition on, each with the new revision, and the status says how
// many.
func TestRoll(t *testing.T) {
	in(t, sim.Options{PD: 3, TiKV: 3, TiDB: 2}, func(w *world) {
		w.create()
		w.pass(60)
		before := w.uids(topology.TiKV, 3)
		w.update(topology.TiKV, func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = "pingcap/tikv:v8.5.1" })
		w.pass(30)
		if s := w.set(topology.TiKV).Status; s.UpdateRevision == s.CurrentRevision || s.UpdatedReplicas != 0 {
			t.Errorf("%+v", s)
		}
		w.update(topology.TiKV, partition(2))
		w.pass(60)
		after := w.uids(topology.TiKV, 3)
		if after[0] != before[0] || after[1] != before[1] || after[2] == before[2] || after[2] == "" {
			t.Errorf("%v, then %v", before, after)
		}
		s, p := w.set(topology.TiKV).Status, w.pod("basic-tikv-2")
		if s.UpdatedReplicas != 1 || p.Spec.Containers[0].Image != "pingcap/tikv:v8.5.1" || p.Labels[appsv1.ControllerRevisionHashLabelKey] != s.UpdateRevision {
			t.Errorf("%+v, %s", s, p.Spec.Containers[0].Image)
		}
		if _, err := w.kube.AppsV1().ControllerRevisions(Namespace).Get(w.Context(), s.CurrentRevision, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		w.update(topology.TiKV, partition(0))
		w.pass(120)
		if s := w.set(topology.TiKV).Status; s.UpdateRevision != s.CurrentRevision || s.UpdatedReplicas != 3 || s.ReadyReplicas != 3 {
			t.Errorf("%+v", s)
		}
	})
}

// TestFlaw: the annotation of a template is what is wrong with its pods.
func TestFlaw(t *testing.T) {
	in(t, sim.Options{PD: 3, TiKV: 3, TiDB: 2}, func(w *world) {
		w.create()
		w.pass(60)
		for _, flaw := range []string{"crashing", "noimage"} {
			w.update(topology.TiDB, func(s *appsv1.StatefulSet) {
				metav1.SetMetaDataAnnotation(&s.Spec.Template.ObjectMeta, Flaw, flaw)
				partition(1)(s)
			})
			w.pass(60)
			if p := w.pod("basic-tidb-1"); p.Status.ContainerStatuses[0].State.Waiting == nil {
				t.Errorf("%s: %+v", flaw, p.Status.ContainerStatuses)
			}
			if err := w.kube.CoreV1().Pods(Namespace).Delete(w.Context(), "basic-tidb-1", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestRefused: of a pod that a webhook refuses there is an event.
func TestRefused(t *testing.T) {
	in(t, sim.Options{PD: 3, TiKV: 3, TiDB: 2}, func(w *world) {
		w.create()
		w.pass(60)
		w.update(topology.TiDB, func(s *appsv1.StatefulSet) {
			metav1.SetMetaDataAnnotation(&s.Spec.Template.ObjectMeta, Flaw, "refused")
			partition(1)(s)
		})
		w.pass(60)
		about := metav1.ListOptions{FieldSelector: "involvedObject.kind=StatefulSet,involvedObject.name=basic-tidb,reason=FailedCreate"}
		got, err := w.kube.CoreV1().Events(Namespace).List(w.Context(), about)
		if err != nil || len(got.Items) != 1 || got.Items[0].Count < 2 || w.pod("basic-tidb-1") != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestDeletedPod: a pod that is deleted ends, and is replaced; its claim stays.
func TestDeletedPod(t *testing.T) {
	in(t, sim.Options{PD: 3, TiKV: 3, TiDB: 2}, func(w *world) {
		w.create()
		w.pass(60)
		before, claim := w.pod("basic-tikv-1"), w.claim("tikv-basic-tikv-1")
		if err := w.kube.CoreV1().Pods(Namespace).Delete(w.Context(), before.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.pass(1)
		if p := w.pod(before.Name); p == nil || p.UID != before.UID || p.DeletionTimestamp == nil {
			t.Errorf("%+v", p)
		}
		w.pass(60)
		p := w.pod(before.Name)
		if p == nil || p.UID == before.UID || p.Status.Phase != corev1.PodRunning || p.Status.PodIP == before.Status.PodIP {
			t.Errorf("%+v", p)
		}
		if w.claim("tikv-basic-tikv-1").UID != claim.UID {
			t.Error("it has another claim")
		}
		now := int64(0)
		if err := w.kube.CoreV1().Pods(Namespace).Delete(w.Context(), before.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Fatal(err)
		}
		if w.Written(); w.pod(before.Name) != nil {
			t.Error("a pod that is deleted by force is there")
		}
	})
}

func (w *world) claim(name string) *corev1.PersistentVolumeClaim {
	c, err := w.kube.CoreV1().PersistentVolumeClaims(Namespace).Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// TestScaleIn: the pod goes and its claim stays, with its mark, until somebody deletes the claim.
func TestScaleIn(t *testing.T) {
	in(t, sim.Options{PD: 3, TiKV: 3, TiDB: 2}, func(w *world) {
		w.create()
		w.pass(60)
		two := int32(2)
		w.update(topology.TiKV, func(s *appsv1.StatefulSet) { s.Spec.Replicas = &two })
		w.pass(60)
		if w.pod("basic-tikv-2") != nil {
			t.Error("the pod is there")
		}
		claims := w.kube.CoreV1().PersistentVolumeClaims(Namespace)
		mark := []byte(`{"metadata":{"annotations":{"` + topology.AnnotationDeferDeleting + `":"x"}},"spec":{"resources":{"requests":{"storage":"12Gi"}}}}`)
		if _, err := claims.Patch(w.Context(), "tikv-basic-tikv-2", types.MergePatchType, mark, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		w.pass(1)
		if c := w.model.ShownClaims(topology.TiKV)[2]; !c.Marked || c.Requested != 12 {
			t.Errorf("%+v", c)
		}
		volume := w.claim("tikv-basic-tikv-2").Spec.VolumeName
		if err := claims.Delete(w.Context(), "tikv-basic-tikv-2", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.pass(60)
		if left := w.model.ShownClaims(topology.TiKV); len(left) != 2 {
			t.Errorf("%+v", left)
		}
		if _, err := w.kube.CoreV1().PersistentVolumes().Get(w.Context(), volume, metav1.GetOptions{}); err == nil {
			t.Error("the volume is there")
		}
	})
}

// TestOrphan: a StatefulSet that is deleted without its pods leaves them, and the next one adopts them.
func TestOrphan(t *testing.T) {
	in(t, sim.Options{PD: 3, TiKV: 3, TiDB: 2}, func(w *world) {
		w.create()
		w.pass(60)
		before, set, policy := w.uids(topology.TiKV, 3), w.set(topology.TiKV), metav1.DeletePropagationOrphan
		client := w.kube.AppsV1().StatefulSets(Namespace)
		if err := client.Delete(w.Context(), set.Name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			t.Fatal(err)
		}
		w.Written()
		if _, err := client.Get(w.Context(), set.Name, metav1.GetOptions{}); err == nil || len(w.pod("basic-tikv-0").OwnerReferences) > 0 {
			t.Error("it is there, or its pods have an owner")
		}
		next := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: set.Name, Labels: set.Labels, Annotations: set.Annotations}, Spec: set.Spec}
		w.put(next)
		w.pass(30)
		after := w.uids(topology.TiKV, 3)
		if before[0] != after[0] || before[2] != after[2] || w.pod("basic-tikv-0").OwnerReferences[0].UID != w.set(topology.TiKV).UID {
			t.Errorf("%v, then %v", before, after)
		}
	})
}

// TestDelete: what belongs to a TidbCluster goes with it, and claims stay.
func TestDelete(t *testing.T) {
	in(t, sim.Options{PD: 3, TiKV: 3, TiDB: 2}, func(w *world) {
		w.create()
		w.pass(60)
		if err := w.dyn.Resource(clusterResource).Namespace(Namespace).Delete(w.Context(), Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.pass(60)
		for _, r := range w.api.Resources() {
			if left := len(w.api.List(r, Namespace)); left > 0 && r != events && (r != claims || left != 6) {
				t.Errorf("%d of %s are left", left, r)
			}
		}
	})
}

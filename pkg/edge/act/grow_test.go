package act

import (
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const gi = topology.Size(1 << 30)

// sized returns a claim with a request and a capacity.
func sized(ordinal int, request, capacity string) *corev1.PersistentVolumeClaim {
	c := claim(topology.TiKV, ordinal, false)
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(request)}
	c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(capacity)}
	return c
}

// leavingClaim returns a claim that is being deleted while a pod uses the claim.
func leavingClaim() *corev1.PersistentVolumeClaim {
	c := sized(3, "10Gi", "10Gi")
	c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: now}, []string{"kubernetes.io/pvc-protection"}
	return c
}

func resize3(size topology.Size) step.ResizeClaim {
	return step.ResizeClaim{
		Component: topology.TiKV, Member: "basic-tikv-3", Name: claimName, UID: "uid-of-" + claimName, From: 10 * gi, Size: size,
	}
}

func TestResizeClaim(t *testing.T) {
	w := newFixture(t, sized(3, "10Gi", "10Gi"))
	w.do(t, resize3(20*gi))
	got := liveClaim(t, w)
	if requested(got) != 20*gi || got.Annotations["mine"] != "stays" {
		t.Errorf("requests %s, annotations %v", requested(got), got.Annotations)
	}
	w.kube.ClearActions()

	t.Run("the answer got lost", func(t *testing.T) {
		w.do(t, resize3(20*gi))
		w.unchanged(t)
	})
	t.Run("tidb-B20 never to less than was asked for", func(t *testing.T) {
		w.do(t, resize3(15*gi))
		w.unchanged(t)
	})
	t.Run("another claim of that name", func(t *testing.T) {
		s := resize3(30 * gi)
		s.UID = "former"
		w.isStale(t, s)
	})
	t.Run("it is gone", func(t *testing.T) { newFixture(t).isStale(t, resize3(30*gi)) })
	t.Run("it is being deleted since", func(t *testing.T) { newFixture(t, leavingClaim()).isStale(t, resize3(30*gi)) })
	t.Run("it was being deleted already", func(t *testing.T) {
		w, s := newFixture(t, leavingClaim()), resize3(30*gi)
		s.Going = true
		w.do(t, s)
		if got := requested(liveClaim(t, w)); got != 30*gi {
			t.Errorf("requests %s", got)
		}
	})
	t.Run("it was marked as left over since", func(t *testing.T) {
		c := sized(3, "10Gi", "10Gi")
		c.Annotations[topology.AnnotationDeferDeleting] = "now"
		newFixture(t, c).isStale(t, resize3(30*gi))
	})
	t.Run("the refusal of Kubernetes is returned, and is final", func(t *testing.T) {
		w := newFixture(t, sized(3, "10Gi", "10Gi"))
		w.kube.PrependReactor("patch", "persistentvolumeclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, claimName,
				errors.New("only dynamically provisioned pvc can be resized"))
		})
		err := w.Do(t.Context(), resize3(20*gi))
		if err == nil || !strings.Contains(err.Error(), "only dynamically provisioned") || !isFinal(err) {
			t.Errorf("got %v", err)
		}
	})
}

// sizedSet returns a StatefulSet that has converged, and the wanted one with a larger claim
// template.
func sizedSet(have, want string) (live, wanted *appsv1.StatefulSet) {
	live = set(topology.TiKV, 2, 2)
	live.Status.CurrentRevision = "new"
	live.Annotations = map[string]string{"of": "others"}
	live.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "noon"}
	live.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*sized(0, have, have)}
	live.Spec.VolumeClaimTemplates[0].Name = "tikv"
	wanted = live.DeepCopy()
	wanted.Spec.Template.Annotations = nil
	wanted.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(want)
	return live, wanted
}

func recreated(wanted *appsv1.StatefulSet) step.RecreateSet {
	return step.RecreateSet{
		Component: topology.TiKV, Name: "basic-tikv", Basis: of(topology.TiKV), Replicas: 2,
		Object: desired.Object{Kind: "StatefulSet", Name: "basic-tikv", Manifest: wanted},
	}
}

func TestRecreateSet(t *testing.T) {
	live, wanted := sizedSet("10Gi", "20Gi")
	w := newFixture(t, live, sized(0, "20Gi", "10Gi"), pod(topology.TiKV, 0), pod(topology.TiKV, 1))
	w.do(t, recreated(wanted))
	got := liveSet(t, w, topology.TiKV)
	if size := got.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String(); size != "20Gi" {
		t.Errorf("claims of %s", size)
	}
	if got.UID == live.UID || replicas(got) != 2 || render.Partition(got) != 2 || got.Annotations["of"] != "others" {
		t.Errorf("recreated as %+v", got.ObjectMeta)
	}
	if got.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] != "noon" {
		t.Error("another pod template, for which all pods would be restarted")
	}
	if c := metav1.GetControllerOf(got); c == nil || c.UID != cluster.UID {
		t.Errorf("belongs to %v", c)
	}
	for _, a := range w.kube.Actions() {
		if d, ok := a.(clienttesting.DeleteActionImpl); ok && (*d.DeleteOptions.PropagationPolicy != metav1.DeletePropagationOrphan ||
			*d.DeleteOptions.Preconditions.UID != live.UID || *d.DeleteOptions.Preconditions.ResourceVersion != "1") {
			t.Errorf("deleted with %+v", d.DeleteOptions)
		}
	}
	if calls := w.writes(); !slices.Equal(calls, []string{"delete statefulsets", "create statefulsets"}) {
		t.Errorf("calls %q", calls)
	}
}

// TestRecreateSetWithOtherVolumes: the pod template comes with the claim templates whose volumes it mounts, also during a
// rollout.
func TestRecreateSetWithOtherVolumes(t *testing.T) {
	live, wanted := sizedSet("10Gi", "10Gi")
	live.Status.CurrentRevision = "old"
	for _, name := range []string{"tikv-wal", "tikv-log"} {
		volume := *sized(0, "1Gi", "1Gi")
		volume.Name = name
		live.Spec.VolumeClaimTemplates = append(live.Spec.VolumeClaimTemplates, volume)
	}
	wanted.Spec.VolumeClaimTemplates = live.DeepCopy().Spec.VolumeClaimTemplates[:2]
	for set, path := range map[*appsv1.StatefulSet]string{live: "/old", wanted: "/wal"} {
		set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "tikv", VolumeMounts: []corev1.VolumeMount{{Name: "tikv-wal", MountPath: path}}}}
	}
	s := recreated(wanted)
	w := newFixture(t, live, sized(0, "10Gi", "10Gi"), pod(topology.TiKV, 0), pod(topology.TiKV, 1))
	w.do(t, s)
	w.unchanged(t)
	s.OtherVolumes = true
	w.do(t, s)
	got := liveSet(t, w, topology.TiKV)
	if len(got.Spec.VolumeClaimTemplates) != 2 || render.MountPath(got.Spec.Template.Spec, topology.TiKV, "tikv-wal") != "/wal" || render.Partition(got) != 2 {
		t.Errorf("recreated as %+v", got.Spec)
	}
	w.kube.ClearActions()
	s.Basis.UID = string(got.UID)
	w.do(t, s)
	w.unchanged(t)
}

// TestRecreateSetDropped: an API server that does not know a field of claim templates drops it without an error. The run
// ends before the StatefulSet is deleted. Otherwise it would make the StatefulSet again without an end.
func TestRecreateSetDropped(t *testing.T) {
	live, wanted := sizedSet("10Gi", "20Gi")
	wanted.Spec.VolumeClaimTemplates[0].Spec.VolumeAttributesClassName = new("gold")
	w := newFixture(t, live, sized(0, "20Gi", "10Gi"), pod(topology.TiKV, 0), pod(topology.TiKV, 1))
	w.kube.PrependReactor("create", "statefulsets", func(a clienttesting.Action) (bool, runtime.Object, error) {
		a.(clienttesting.CreateAction).GetObject().(*appsv1.StatefulSet).Spec.VolumeClaimTemplates[0].Spec.VolumeAttributesClassName = nil
		return false, nil, nil
	})
	err := w.Do(t.Context(), recreated(wanted))
	if err == nil || !isFinal(err) || !strings.HasPrefix(err.Error(), "create statefulset basic-tikv with claim template tikv: this Kubernetes does not store volumeAttributesClassName") {
		t.Errorf("got %v", err)
	}
	w.unchanged(t)
}

// TestRecreateSetRefused: what the API server does not take is known before the pods lose their controller.
func TestRecreateSetRefused(t *testing.T) {
	live, wanted := sizedSet("10Gi", "20Gi")
	w := newFixture(t, live, sized(0, "20Gi", "10Gi"), pod(topology.TiKV, 0), pod(topology.TiKV, 1))
	w.kube.PrependReactor("create", "statefulsets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(appsv1.Resource("statefulsets"), live.Name, errors.New("denied by policy"))
	})
	if err := w.Do(t.Context(), recreated(wanted)); err == nil || !strings.Contains(err.Error(), "denied by policy") {
		t.Errorf("got %v", err)
	}
	w.unchanged(t)
}

// A claim that is being deleted is not resized: the claim that replaces it has the wanted size.
func TestRecreateSetWhileAClaimIsGoing(t *testing.T) {
	live, wanted := sizedSet("10Gi", "20Gi")
	going := sized(1, "10Gi", "10Gi")
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: now}, []string{"kubernetes.io/pvc-protection"}
	newFixture(t, live, sized(0, "20Gi", "10Gi"), going, pod(topology.TiKV, 0), pod(topology.TiKV, 1)).do(t, recreated(wanted))
}

// If a StatefulSet and its pods are deleted between two requests of the step, it is created with the
// wanted spec, not with its former one.
func TestRecreateSetGoneMeanwhile(t *testing.T) {
	live, wanted := sizedSet("10Gi", "20Gi")
	w := newFixture(t, live, sized(0, "20Gi", "10Gi"), pod(topology.TiKV, 0), pod(topology.TiKV, 1))
	w.kube.PrependReactor("delete", "statefulsets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(appsv1.Resource("statefulsets"), live.Name)
	})
	var gone *Stale
	if err := w.Do(t.Context(), recreated(wanted)); !errors.As(err, &gone) || gone.Now != "is gone" {
		t.Errorf("got %v", err)
	}
	if calls := w.writes(); !slices.Equal(calls, []string{"delete statefulsets"}) {
		t.Errorf("calls %q", calls)
	}
}

func TestRecreateSetRefuses(t *testing.T) {
	for name, change := range map[string]func(live *appsv1.StatefulSet, claim *corev1.PersistentVolumeClaim){
		"another one of that name": func(s *appsv1.StatefulSet, _ *corev1.PersistentVolumeClaim) { s.UID = "former" },
		"being deleted": func(s *appsv1.StatefulSet, _ *corev1.PersistentVolumeClaim) {
			s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: now}, []string{"orphan"}
		},
		"scaled since": func(s *appsv1.StatefulSet, _ *corev1.PersistentVolumeClaim) { *s.Spec.Replicas = 3 },
		"rolled out since": func(s *appsv1.StatefulSet, _ *corev1.PersistentVolumeClaim) {
			s.Status.CurrentRevision = "old"
		},
		"open partition": func(s *appsv1.StatefulSet, _ *corev1.PersistentVolumeClaim) {
			*s.Spec.UpdateStrategy.RollingUpdate.Partition = 0
		},
		"changed and not seen": func(s *appsv1.StatefulSet, _ *corev1.PersistentVolumeClaim) { s.Generation = 2 },
		"a claim that was not resized": func(_ *appsv1.StatefulSet, c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("10Gi")
		},
	} {
		t.Run(name, func(t *testing.T) {
			live, wanted := sizedSet("10Gi", "20Gi")
			c := sized(1, "20Gi", "10Gi")
			change(live, c)
			newFixture(t, live, c).isStale(t, recreated(wanted))
		})
	}

	t.Run("a claim that was left over keeps its size", func(t *testing.T) {
		live, wanted := sizedSet("10Gi", "20Gi")
		c := sized(1, "10Gi", "10Gi")
		c.Annotations[topology.AnnotationDeferDeleting] = "earlier"
		newFixture(t, live, c).do(t, recreated(wanted))
	})
	t.Run("it is gone", func(t *testing.T) {
		_, wanted := sizedSet("10Gi", "20Gi")
		newFixture(t).isStale(t, recreated(wanted))
	})
	t.Run("it has the size already", func(t *testing.T) {
		live, wanted := sizedSet("20Gi", "20Gi")
		w := newFixture(t, live)
		w.do(t, recreated(wanted))
		w.unchanged(t)
	})
	t.Run("tidb-B20 it is larger already", func(t *testing.T) {
		live, wanted := sizedSet("20Gi", "10Gi")
		w := newFixture(t, live)
		w.do(t, recreated(wanted))
		w.unchanged(t)
	})
	t.Run("of another owner", func(t *testing.T) {
		live, wanted := sizedSet("10Gi", "20Gi")
		live.OwnerReferences[0].UID, live.OwnerReferences[0].Kind = "x", "Other"
		w := newFixture(t, live)
		if err := w.Do(t.Context(), recreated(wanted)); !isFinal(err) {
			t.Errorf("got %v", err)
		}
		w.unchanged(t)
	})
}

// pd-A20, tidb-B36: after a write in between the step reads again, and does not fail.
func TestRecreateSetReadsAgain(t *testing.T) {
	t.Run("pd-A20 tidb-B36 its status was written in between", func(t *testing.T) {
		live, wanted := sizedSet("10Gi", "20Gi")
		w := newFixture(t, live)
		deletes := 0
		w.kube.PrependReactor("delete", "statefulsets", func(clienttesting.Action) (bool, runtime.Object, error) {
			if deletes++; deletes > 1 {
				return false, nil, nil
			}
			other := live.DeepCopy()
			other.ResourceVersion, other.Status.ReadyReplicas = "2", 1
			return false, nil, w.kube.Tracker().Update(appsv1.SchemeGroupVersion.WithResource("statefulsets"), other, "db")
		})
		w.do(t, recreated(wanted))
		if deletes != 2 || liveSet(t, w, topology.TiKV).UID == live.UID {
			t.Errorf("%d deletions", deletes)
		}
	})

	t.Run("it is gone only after a while", func(t *testing.T) {
		live, wanted := sizedSet("10Gi", "20Gi")
		w := newFixture(t, live)
		looks := 0
		w.kube.PrependReactor("delete", "statefulsets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, nil
		})
		w.kube.PrependReactor("get", "statefulsets", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if looks++; looks == 3 {
				_ = w.kube.Tracker().Delete(a.GetResource(), "db", "basic-tikv")
			}
			return false, nil, nil
		})
		w.do(t, recreated(wanted))
		if looks < 3 || liveSet(t, w, topology.TiKV).UID == live.UID {
			t.Errorf("%d reads", looks)
		}
	})
}

// A StatefulSet that is created around pods must not delete any of them.
func TestCreateAroundPods(t *testing.T) {
	create := func(n int) step.Apply {
		manifest := set(topology.TiKV, 2, 2)
		manifest.ResourceVersion = ""
		return step.Apply{
			Component: topology.TiKV, Replicas: n,
			Object: desired.Object{Kind: "StatefulSet", Name: "basic-tikv", Drift: desired.Missing, Manifest: manifest},
		}
	}
	pods := []runtime.Object{pod(topology.TiKV, 0), pod(topology.TiKV, 3), pod(topology.PD, 5)}
	newFixture(t, pods...).isStale(t, create(0))
	newFixture(t, pods...).isStale(t, create(3))
	w := newFixture(t, pods...)
	w.do(t, create(4))
	if s := liveSet(t, w, topology.TiKV); replicas(s) != 4 || render.Partition(s) != 4 {
		t.Errorf("%d replicas, partition %d", replicas(s), render.Partition(s))
	}
	going := pod(topology.TiKV, 3)
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: now}, []string{"x"}
	newFixture(t, going).do(t, create(0))
}

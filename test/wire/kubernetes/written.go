package kubernetes

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

const gi = 1 << 30

// writtenSet tells the model what has become of a component's StatefulSet.
func (b *Bridge) writtenSet(k topology.Kind) {
	set, there := b.set(k)
	known := b.sets[k]
	switch {
	case !there && known != "":
		delete(b.sets, k)
		b.model.DeleteSet(k) // in the background: the pods go later
	case !there:
	default:
		if is := b.model.ShownSet(k); is.UID != string(set.UID) || is.Spec.Generation != set.Generation {
			b.templates[k].applied(set.Spec.Template, b.model.Now())
		}
		b.sets[k] = string(set.UID)
		b.model.WriteSet(k, b.specOf(k, set))
		if set.DeletionTimestamp != nil {
			b.model.DeleteSet(k)
		}
	}
}

// specOf returns what the model knows of the spec of a StatefulSet.
func (b *Bridge) specOf(k topology.Kind, set *appsv1.StatefulSet) sim.WrittenSet {
	out := sim.WrittenSet{
		UID: string(set.UID), Generation: set.Generation, Template: b.templates[k].name(k, set),
		Manual:    set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType,
		InBatches: render.RestartsInBatches(set),
		Ordered:   set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement,
	}
	ordinals := state.OrdinalsOf(set)
	out.Replicas, out.Slots = ordinals.Count, ordinals.Slots
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil && r.Partition != nil {
		out.Partition = int(*r.Partition)
	}
	var mounts []string
	for _, c := range set.Spec.VolumeClaimTemplates {
		if c.Name == sim.VolumeOf(k) {
			out.Size, out.Attributes = sizeOf(&c), attributesOf(&c)
			continue
		}
		mounts = append(mounts, c.Name+"="+render.MountPath(set.Spec.Template.Spec, k, c.Name))
	}
	out.Mounts = strings.Join(mounts, ",")
	return out
}

// sizeOf returns the size that a claim asks for, in Gi.
func sizeOf(c *corev1.PersistentVolumeClaim) int {
	return int(c.Spec.Resources.Requests.Storage().Value() / gi)
}

// attributesOf returns the VolumeAttributesClass that a claim asks for, "" for none.
func attributesOf(c *corev1.PersistentVolumeClaim) string {
	if name := c.Spec.VolumeAttributesClassName; name != nil {
		return *name
	}
	return ""
}

// shownPod is what the bridge has shown of a pod.
type shownPod struct {
	name                      string
	evictionBegun, drainBegun string // the annotations
}

// writtenPods tells the model which pods clients have deleted, and the marks of tidb-operator that they have changed.
func (b *Bridge) writtenPods(k topology.Kind) {
	for _, p := range b.model.ShownPods(k) {
		was, shown := b.shown[p.UID]
		if !shown {
			continue
		}
		pod, there := podOf(b, k, p.Ordinal)
		switch {
		case !there || string(pod.UID) != p.UID:
			b.model.DeletePod(p.UID, !p.Ended) // an API server keeps no pod that has ended, and a kubelet none without a grace period
			continue
		case pod.DeletionTimestamp != nil && !p.Terminating:
			b.model.DeletePod(p.UID, false)
		}
		is := shownPod{pod.Name, pod.Annotations[topology.AnnotationEvictionBegun], pod.Annotations[topology.AnnotationDrainBegun]}
		if is != was {
			b.shown[p.UID] = is
			b.model.MarkPod(p.UID, timeOf(is.evictionBegun), timeOf(is.drainBegun))
		}
	}
}

func timeOf(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// writtenClaims tells the model which claims clients have marked, made larger or deleted.
func (b *Bridge) writtenClaims(k topology.Kind) {
	for _, c := range b.model.ShownClaims(k) {
		if !b.claims[c.UID] {
			continue
		}
		claim, there := get[*corev1.PersistentVolumeClaim](b, claims, c.Name)
		if !there || string(claim.UID) != c.UID {
			b.model.DeleteClaim(c.UID)
			continue
		}
		_, marked := claim.Annotations[topology.AnnotationDeferDeleting]
		b.model.MarkClaim(c.UID, marked)
		b.model.GrowClaim(c.UID, sizeOf(claim))
		b.model.ModifyClaim(c.UID, attributesOf(claim))
		if claim.DeletionTimestamp != nil {
			b.model.DeleteClaim(c.UID)
		}
	}
}

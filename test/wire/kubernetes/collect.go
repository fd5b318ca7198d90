package kubernetes

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// collect is the garbage collector. It deletes what belongs to a TidbCluster or a StatefulSet that is gone, except for
// pods, which the model deletes. It takes the finalizers of propagation policies off.
func (b *Bridge) collect() {
	for _, k := range sim.Kinds() {
		set, there := b.set(k)
		if there && set.DeletionTimestamp != nil && slices.Contains(set.Finalizers, metav1.FinalizerOrphanDependents) {
			b.model.OrphanSet(k)
			b.disown(k)
			delete(b.sets, k)
			b.api.Remove(b.setResource(), Namespace, set.Name)
		}
	}
	for b.sweep() > 0 { // what belonged to what has gone now is garbage as well
	}
}

// sweep deletes the objects whose owners are gone, and returns how many.
func (b *Bridge) sweep() (deleted int) {
	for _, r := range b.api.Resources() {
		if r == pods {
			continue
		}
		for _, obj := range b.api.List(r, Namespace) {
			if meta, ok := obj.(metav1.Object); ok && b.isGarbage(meta) {
				b.api.Remove(r, Namespace, meta.GetName())
				deleted++
			}
		}
	}
	return deleted
}

// isGarbage reports whether the TidbCluster or the StatefulSet that an object belongs to is gone.
func (b *Bridge) isGarbage(obj metav1.Object) bool {
	for _, owner := range obj.GetOwnerReferences() {
		r := b.setResource()
		switch owner.Kind {
		case "TidbCluster":
			r = tidbClusters
		case "StatefulSet":
		default:
			return false
		}
		if have, ok := b.api.Get(r, Namespace, owner.Name).(metav1.Object); ok && have.GetUID() == owner.UID {
			return false
		}
	}
	return len(obj.GetOwnerReferences()) > 0
}

package kubernetes

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// Migrate makes AdvancedStatefulSets of the StatefulSets of the cluster, as a tidb-operator with that feature gate does.
// The members keep their pods. In the model nothing changes.
func (b *Bridge) Migrate() {
	var all []*appsv1.StatefulSet
	for _, k := range sim.Kinds() {
		if set, there := b.set(k); there {
			all = append(all, set)
			b.api.Remove(b.setResource(), Namespace, set.Name)
		}
	}
	b.advanced = true
	b.api.ServeAdvanced()
	for _, set := range all {
		next := set.DeepCopy()
		next.ResourceVersion, next.Spec.PersistentVolumeClaimRetentionPolicy = "", nil
		b.putSet("", next)
	}
	clear(b.done)
	b.Written()
	b.Show()
}

// Set returns the StatefulSet of a component.
func (b *Bridge) Set(k topology.Kind) (*appsv1.StatefulSet, bool) { return b.set(k) }

// PutSet writes a StatefulSet as a person does who uses a client with this name.
func (b *Bridge) PutSet(client string, set *appsv1.StatefulSet) { b.putSet(client, set) }

func (b *Bridge) setResource() schema.GroupResource {
	if b.advanced {
		return sets.Resource.GroupResource()
	}
	return plainSets
}

func (b *Bridge) set(k topology.Kind) (*appsv1.StatefulSet, bool) {
	name := b.cluster.SetName(k)
	if !b.advanced {
		return get[*appsv1.StatefulSet](b, plainSets, name)
	}
	u, there := get[*unstructured.Unstructured](b, b.setResource(), name)
	if !there {
		return nil, false
	}
	return decodedSet(u), true
}

func decodedSet(u *unstructured.Unstructured) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, set); err != nil {
		panic("wire: decode a StatefulSet: " + err.Error())
	}
	return set
}

// putSet writes a StatefulSet, by a client or with "" by its controller, and returns the StatefulSet that was written.
func (b *Bridge) putSet(manager string, set *appsv1.StatefulSet) *appsv1.StatefulSet {
	var object runtime.Object = set
	if b.advanced {
		marked := set.DeepCopy()
		sets.Mark(marked)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(marked)
		if err != nil {
			panic("wire: encode a StatefulSet: " + err.Error())
		}
		object = &unstructured.Unstructured{Object: content}
	}
	if manager == "" {
		object = b.api.Put(b.setResource(), object)
	} else {
		object = b.api.PutBy(manager, b.setResource(), object)
	}
	if u, custom := object.(*unstructured.Unstructured); custom {
		return decodedSet(u)
	}
	return object.(*appsv1.StatefulSet)
}

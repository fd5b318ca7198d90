package kubernetes

import (
	"encoding/json"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// showSet writes what has become of a component's StatefulSet without a request. It has gone, or a person has changed
// its spec.
func (b *Bridge) showSet(k topology.Kind) {
	name := b.cluster.SetName(k)
	set, there := b.set(k)
	if !there || string(set.UID) != b.sets[k] {
		return
	}
	is := b.model.ShownSet(k)
	switch {
	case !is.Exists:
		delete(b.sets, k)
		b.api.Remove(b.setResource(), Namespace, name)
		if set.DeletionTimestamp == nil { // a person has deleted it without its pods
			b.disown(k)
		}
	case is.Spec.Generation > set.Generation:
		next := b.putSet("kubectl", b.changedByHand(k, set, is.Spec))
		if !apiequality.Semantic.DeepEqual(next.Spec.Template, set.Spec.Template) {
			b.templates[k].changed(next.Spec.Template, b.model.Now())
		}
		b.model.NameTemplate(k, b.templates[k].name(k, next))
	}
}

// changedByHand returns a StatefulSet with the spec that the model has.
func (b *Bridge) changedByHand(k topology.Kind, set *appsv1.StatefulSet, spec sim.WrittenSet) *appsv1.StatefulSet {
	next := set.DeepCopy()
	next.Generation = spec.Generation
	replicas, partition := int32(spec.Replicas), int32(spec.Partition)
	next.Spec.Replicas = &replicas
	if r := next.Spec.UpdateStrategy.RollingUpdate; r != nil {
		r.Partition = &partition
	}
	if was := b.templates[k].name(k, set); was != spec.Template {
		next.Spec.Template = b.templateByHand(k, set.Spec.Template, spec.Template)
	}
	return next
}

// templateByHand returns the pod template with a name. It is a template that was there before, or another image that
// a person has set.
func (b *Bridge) templateByHand(k topology.Kind, from corev1.PodTemplateSpec, name string) corev1.PodTemplateSpec {
	if known, ok := b.templates[k].named[name]; ok {
		return *known.DeepCopy()
	}
	if known, ok := b.templates[k].wanted[name]; ok {
		b.templates[k].add(name, known)
		return *known.DeepCopy()
	}
	next := *from.DeepCopy()
	for i := range next.Spec.Containers {
		if c := &next.Spec.Containers[i]; c.Name == string(k) {
			image, _, _ := strings.Cut(c.Image, byHand)
			c.Image = image + byHand
			if _, flaw, flawed := strings.Cut(name, "-"); flawed {
				c.Image += "-" + flaw
			}
		}
	}
	return next
}

// showStatus writes the status of a StatefulSet, once its controller has seen it, and the revisions that the status
// names.
func (b *Bridge) showStatus(k topology.Kind) {
	set, there := b.set(k)
	is := b.model.ShownSet(k)
	if !there || string(set.UID) != is.UID || is.Observed == 0 {
		return
	}
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: is.Observed, CurrentRevision: b.revisionName(k, is.Current), UpdateRevision: b.revisionName(k, is.Update),
		CollisionCount: new(int32),
	}
	for _, p := range b.model.ShownPods(k) {
		if p.Terminating && !is.Spec.Has(p.Ordinal) {
			continue
		}
		status.Replicas++
		if p.Ready && !p.Terminating {
			status.ReadyReplicas++
			status.AvailableReplicas++
		}
		if p.Revision == is.Current {
			status.CurrentReplicas++
		}
		if p.Revision == is.Update {
			status.UpdatedReplicas++
		}
	}
	if apiequality.Semantic.DeepEqual(set.Status, status) {
		return
	}
	next := set.DeepCopy()
	next.Status = status
	b.showRevision(k, set, is.Current)
	b.showRevision(k, set, is.Update)
	b.putSet("", next)
}

// showRevision writes the ControllerRevision of a template, in the form in which the StatefulSet controller keeps it.
func (b *Bridge) showRevision(k topology.Kind, set *appsv1.StatefulSet, template string) {
	name := b.revisionName(k, template)
	if _, there := get[*appsv1.ControllerRevision](b, revisions, name); there || name == "" {
		return
	}
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"template": patchOf(b.templates[k].named[template])}})
	if err != nil {
		panic("wire: encode a revision: " + err.Error())
	}
	b.api.Put(revisions, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: name, Labels: set.Spec.Template.Labels, OwnerReferences: []metav1.OwnerReference{*controllerRef(set)},
		},
		Data: runtime.RawExtension{Raw: body}, Revision: int64(len(b.api.List(revisions, Namespace)) + 1),
	})
}

// patchOf returns a pod template as a revision has it: the patch replaces the one that there is.
func patchOf(template corev1.PodTemplateSpec) map[string]any {
	out := map[string]any{}
	body, err := json.Marshal(template)
	if err == nil {
		err = json.Unmarshal(body, &out)
	}
	if err != nil {
		panic("wire: encode a pod template: " + err.Error())
	}
	out["$patch"] = "replace"
	return out
}

func controllerRef(set *appsv1.StatefulSet) *metav1.OwnerReference {
	version := appsv1.SchemeGroupVersion
	if state.IsAdvanced(set.APIVersion) {
		version = sets.Resource.GroupVersion()
	}
	return metav1.NewControllerRef(set, version.WithKind("StatefulSet"))
}

// disown takes the reference to their StatefulSet off the pods of a component.
func (b *Bridge) disown(k topology.Kind) {
	for _, p := range b.model.ShownPods(k) {
		if pod, there := podOf(b, k, p.Ordinal); there && string(pod.UID) == p.UID && len(pod.OwnerReferences) > 0 {
			next := pod.DeepCopy()
			next.OwnerReferences = nil
			b.api.Put(pods, next)
		}
	}
}

// ownerOf returns the reference of a pod to the StatefulSet that its controller has seen, else what it has.
func (b *Bridge) ownerOf(k topology.Kind, has []metav1.OwnerReference) []metav1.OwnerReference {
	set, there := b.set(k)
	if is := b.model.ShownSet(k); !there || set.UID != types.UID(is.UID) || is.Observed == 0 {
		return has
	}
	return []metav1.OwnerReference{*controllerRef(set)}
}

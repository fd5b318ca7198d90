package kubernetes

import (
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// showPods writes the pods of a component.
func (b *Bridge) showPods(k topology.Kind) {
	there := map[string]bool{}
	for _, p := range b.model.ShownPods(k) {
		there[p.UID] = true
		pod, found := podOf(b, k, p.Ordinal)
		if found && string(pod.UID) != p.UID {
			b.removePod(pod)
			found = false
		}
		if _, shown := b.shown[p.UID]; !found && shown {
			continue // it has just been deleted
		}
		if !found {
			pod = b.newPod(k, p)
		}
		b.putPod(k, p, pod)
	}
	for _, pod := range list[*corev1.Pod](b, pods) {
		if _, shown := b.shown[string(pod.UID)]; shown && !there[string(pod.UID)] && pod.Labels[topology.LabelComponent] == string(k) {
			b.removePod(pod)
		}
	}
}

func (b *Bridge) removePod(pod *corev1.Pod) {
	delete(b.shown, string(pod.UID))
	delete(b.done, string(pod.UID))
	b.api.Remove(pods, Namespace, pod.Name)
}

// newPod returns a pod as the StatefulSet controller makes it.
func (b *Bridge) newPod(k topology.Kind, p sim.ShownPod) *corev1.Pod {
	template := b.templates[k].named[p.Revision]
	name := b.cluster.PodName(k, p.Ordinal)
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Namespace, pod.Name, pod.GenerateName, pod.UID = Namespace, name, b.cluster.SetName(k)+"-", types.UID(p.UID)
	pod.CreationTimestamp = metav1.NewTime(p.Made)
	pod.Labels = union(pod.Labels, map[string]string{
		appsv1.ControllerRevisionHashLabelKey: b.revisionName(k, p.Revision),
		appsv1.StatefulSetPodNameLabel:        name,
		appsv1.PodIndexLabel:                  strconv.Itoa(p.Ordinal),
	})
	pod.Spec.Hostname, pod.Spec.Subdomain = name, b.cluster.PeerService(k)
	pod.Spec.NodeName = p.Node
	if set, ok := b.set(k); ok {
		b.showEvent(set, name, "SuccessfulCreate", corev1.EventTypeNormal, "successful")
		for _, t := range set.Spec.VolumeClaimTemplates {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: t.Name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: t.Name + "-" + name},
			}})
		}
	}
	return pod
}

// putPod writes a pod as it is by the model. What clients have written stays.
func (b *Bridge) putPod(k topology.Kind, p sim.ShownPod, pod *corev1.Pod) {
	owners := b.ownerOf(k, pod.OwnerReferences)
	state := podState{ShownPod: p}
	if len(owners) > 0 {
		state.owner = owners[0].UID
	}
	if b.isDone(p.UID, state, pod) {
		return
	}
	next := pod.DeepCopy()
	next.OwnerReferences = owners
	if next.Spec.NodeName == "" {
		next.Spec.NodeName = p.Node
	}
	is := shownPod{name: next.Name, evictionBegun: text(p.EvictionBegun), drainBegun: text(p.DrainBegun)}
	if was, shown := b.shown[p.UID]; !shown || was != is {
		annotate(next, topology.AnnotationEvictionBegun, is.evictionBegun)
		annotate(next, topology.AnnotationDrainBegun, is.drainBegun)
		b.shown[p.UID] = is
	}
	if p.Terminating && next.DeletionTimestamp == nil {
		grace := graceOf(next)
		if p.Ended {
			grace = 0
		}
		at := metav1.NewTime(p.Since.Add(time.Duration(grace) * time.Second))
		next.DeletionTimestamp, next.DeletionGracePeriodSeconds = &at, &grace
	}
	next.Status = b.statusOf(k, p, next)
	if b.report != nil {
		b.report(next)
	}
	b.done[p.UID] = done{state, b.api.Put(pods, next)}
}

// podState is all that the object of a pod depends on.
type podState struct {
	sim.ShownPod
	owner types.UID
}

func graceOf(pod *corev1.Pod) int64 {
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return *s
	}
	return corev1.DefaultTerminationGracePeriodSeconds
}

// text returns a time as tidb-operator writes it into an annotation, "" for none.
func text(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func annotate(pod *corev1.Pod, key, value string) {
	switch {
	case value == "":
		delete(pod.Annotations, key)
	case pod.Annotations == nil:
		pod.Annotations = map[string]string{key: value}
	default:
		pod.Annotations[key] = value
	}
}

// addressOf returns the address of a pod, which no other pod has.
func addressOf(k topology.Kind, p sim.ShownPod) string {
	n, _ := strconv.Atoi(p.UID)
	kind := 0
	for i, other := range sim.Kinds() {
		if other == k {
			kind = i
		}
	}
	return fmt.Sprintf("10.%d.%d.%d", 10+16*kind+p.Ordinal, n/250%250, 1+n%250)
}

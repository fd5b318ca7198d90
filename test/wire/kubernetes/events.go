package kubernetes

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var events = schema.GroupResource{Resource: "events"}

// refused is the flaw of a template whose pods an admission webhook refuses.
const refused = "refused"

// retried is how often the StatefulSet controller tries to make a pod that is refused. It tries less and less often.
const retried = 15 * time.Second

// showRefusals writes the events of pods that could not be made.
func (b *Bridge) showRefusals(k topology.Kind) {
	set, there := b.set(k)
	is := b.model.ShownSet(k)
	if !there || is.Leaving || is.Observed == 0 || !flawed(is.Update) && !flawed(is.Current) {
		return
	}
	for _, i := range is.Spec.Ordinals().All() {
		revision := is.Update
		if !is.Spec.Manual && i < is.Spec.Partition {
			revision = is.Current
		}
		if _, made := podOf(b, k, i); made || !flawed(revision) {
			continue
		}
		b.showEvent(set, b.cluster.PodName(k, i), "FailedCreate", corev1.EventTypeWarning,
			"failed error: "+cmp.Or(b.denied, `admission webhook "sim" denied the request: it refuses all pods of this template`))
	}
}

func flawed(template string) bool {
	_, flaw, _ := strings.Cut(template, "-")
	return flaw == refused
}

// showEvent writes that a pod was made or not, as the StatefulSet controller does.
func (b *Bridge) showEvent(set *appsv1.StatefulSet, pod, reason, kind, result string) {
	now := metav1.NewTime(b.model.Now())
	name := strings.ToLower(fmt.Sprintf("%s.%s.%s", set.Name, pod, reason))
	event, there := get[*corev1.Event](b, events, name)
	switch {
	case !there:
		event = &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: Namespace, Name: name},
			InvolvedObject: corev1.ObjectReference{APIVersion: set.APIVersion, Kind: "StatefulSet", Namespace: Namespace, Name: set.Name, UID: set.UID},
			Reason:         reason, Type: kind, Source: corev1.EventSource{Component: "statefulset-controller"}, FirstTimestamp: now,
			Message: fmt.Sprintf("create Pod %s in StatefulSet %s %s", pod, set.Name, result),
		}
	case reason == "FailedCreate" && now.Sub(event.LastTimestamp.Time) < retried:
		return
	}
	next := event.DeepCopy()
	next.Count++
	next.LastTimestamp = now
	b.api.Put(events, next)
}

package memoryapi

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

func (s *Server) remove(q request) (*object, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	var options metav1.DeleteOptions
	if len(body) > 0 { // kubectl does not say of which kind it is
		kind := corev1.SchemeGroupVersion.WithKind("DeleteOptions")
		got, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, &kind, nil)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if o, ok := got.(*metav1.DeleteOptions); ok {
			options = *o
		}
	}
	if q.dry() {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return s.store.remove(q.in(), q.key, options)
}

// remove deletes an object whose UID and version meet the preconditions. The object stays, with a deletionTimestamp,
// while a kubelet has to end a pod, or while the object has a finalizer. The method Remove deletes the object in any
// case.
func (s *store) remove(r schema.GroupResource, key types.NamespacedName, options metav1.DeleteOptions) (*object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.collection(r)
	have := c.objects[key]
	if have == nil {
		return nil, apierrors.NewNotFound(r, key.Name)
	}
	if only := options.Preconditions; only != nil {
		if only.UID != nil && *only.UID != have.meta.GetUID() {
			return nil, apierrors.NewConflict(r, key.Name, fmt.Errorf("it has the UID %s, not %s", have.meta.GetUID(), *only.UID))
		}
		if only.ResourceVersion != nil && *only.ResourceVersion != have.meta.GetResourceVersion() {
			return nil, apierrors.NewConflict(r, key.Name, errors.New("it was changed meanwhile"))
		}
	}
	if len(options.DryRun) > 0 {
		return have, nil
	}
	next := have.DeepCopyObject()
	meta, err := accessor(next)
	if err != nil {
		return nil, err
	}
	grace := grace(next, options)
	meta.SetFinalizers(finalizers(meta, options.PropagationPolicy))
	if grace == 0 && len(meta.GetFinalizers()) == 0 {
		return s.put(c, watch.Deleted, next, meta), nil
	}
	if old := meta.GetDeletionTimestamp(); old == nil || *meta.GetDeletionGracePeriodSeconds() > grace {
		meta.SetDeletionTimestamp(&metav1.Time{Time: time.Now().Truncate(time.Second).Add(time.Duration(grace) * time.Second)})
		meta.SetDeletionGracePeriodSeconds(&grace)
		if old == nil {
			meta.SetGeneration(meta.GetGeneration() + 1)
		}
	}
	if unchanged(have, next, meta) {
		return have, nil
	}
	return s.put(c, watch.Modified, next, meta), nil
}

// grace returns how many seconds a kubelet gives a pod to end; 0 for all other objects, for a pod without a node, and
// for one that has ended.
func grace(obj runtime.Object, options metav1.DeleteOptions) int64 {
	pod, ok := obj.(*corev1.Pod)
	switch {
	case !ok, pod.Spec.NodeName == "", pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
		return 0
	case options.GracePeriodSeconds != nil:
		return *options.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return corev1.DefaultTerminationGracePeriodSeconds
}

// finalizers returns those of an object that is deleted: the garbage collector takes off those of a propagation policy.
func finalizers(meta metav1.Object, policy *metav1.DeletionPropagation) []string {
	all := slices.Clone(meta.GetFinalizers())
	add := ""
	switch {
	case policy == nil:
	case *policy == metav1.DeletePropagationForeground:
		add = metav1.FinalizerDeleteDependents
	case *policy == metav1.DeletePropagationOrphan:
		add = metav1.FinalizerOrphanDependents
	}
	if add != "" && !slices.Contains(all, add) {
		all = append(all, add)
	}
	return all
}

// released reports whether a write takes the last finalizer off an object that is being deleted.
func released(before, after metav1.Object) bool {
	return before.GetDeletionTimestamp() != nil && len(before.GetFinalizers()) > 0 && len(after.GetFinalizers()) == 0 &&
		(before.GetDeletionGracePeriodSeconds() == nil || *before.GetDeletionGracePeriodSeconds() == 0)
}

// unchanged reports whether a write changes nothing. An API server gives such an object no new version.
func unchanged(have *object, next runtime.Object, meta metav1.Object) bool {
	version := meta.GetResourceVersion()
	meta.SetResourceVersion(have.meta.GetResourceVersion())
	defer meta.SetResourceVersion(version)
	return apiequality.Semantic.DeepEqual(have.Object, next)
}

// sameUID refuses a write that names another UID than that of the object.
func sameUID(r schema.GroupResource, have, next metav1.Object) error {
	uid := next.GetUID()
	if uid == "" || uid == have.GetUID() {
		return nil
	}
	status := metav1.Status{
		Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("%s %q is invalid: metadata.uid: Invalid value: %q: field is immutable", strings.TrimSuffix(r.Resource, "s"), have.GetName(), uid),
		Details: &metav1.StatusDetails{Name: have.GetName(), Group: r.Group, Kind: r.Resource, Causes: []metav1.StatusCause{{
			Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.uid", Message: "field is immutable",
		}}},
	}
	return &apierrors.StatusError{ErrStatus: status}
}

package act

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deleter is the part of a client that deletes objects of one kind.
type deleter interface {
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// toDelete is an object to delete, as it was read.
type toDelete struct {
	object string // for errors, e.g. "pod basic-pd-0"
	live   metav1.Object
	// unchanged deletes the object only if it has not changed since it was read. Otherwise only
	// the UID has to be the same.
	unchanged bool
	// propagation says what happens to the objects that it owns; "" is the default of Kubernetes.
	propagation metav1.DeletionPropagation
}

// deleteObject deletes an object, and never another one that has got its name since. All deletions
// of this package are made here. It fails with a *Stale where the object is another one or has
// changed. found is false where there is none any more.
func deleteObject(ctx context.Context, client deleter, d toDelete) (found bool, err error) {
	uid, version := d.live.GetUID(), d.live.GetResourceVersion()
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if d.unchanged {
		opts.Preconditions.ResourceVersion = &version
	}
	if d.propagation != "" {
		opts.PropagationPolicy = &d.propagation
	}
	err = client.Delete(ctx, d.live.GetName(), opts)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsConflict(err):
		return true, stale(d.object, "has just changed")
	case err != nil:
		return true, failed("delete", d.object, err)
	}
	return true, nil
}

// replacePod deletes a pod, so that its StatefulSet recreates it. Where the pod has another UID
// already, that has been done.
func (a *Actor) replacePod(ctx context.Context, pod *corev1.Pod) error {
	_, err := deleteObject(ctx, a.kube.CoreV1().Pods(a.cluster.Namespace), toDelete{object: "pod " + pod.Name, live: pod})
	if _, replaced := errors.AsType[*Stale](err); replaced {
		return nil
	}
	return err
}

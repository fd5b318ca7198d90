package act

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deleter is the client for a kind of objects, as far as it deletes them.
type deleter interface {
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// toDelete is an object that is to be deleted, as it was read.
type toDelete struct {
	object string // for errors, e.g. "pod basic-pd-0"
	live   metav1.Object
	// unchanged: only if nobody has written the object since it was read. Without
	// it only the UID has to be the same.
	unchanged bool
	// propagation is what becomes of what the object owns; "" leaves that to
	// Kubernetes.
	propagation metav1.DeletionPropagation
}

// deleteObject deletes an object, and never another one that has got its name since: all
// deletions of this package are made here. It fails with a *Stale where the object is
// another one or has changed. found is false where there is none any more.
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

// replacePod deletes a pod for its StatefulSet to make it anew. Where there is
// another one already, that has been done.
func (a *Actor) replacePod(ctx context.Context, pod *corev1.Pod) error {
	_, err := deleteObject(ctx, a.kube.CoreV1().Pods(a.cluster.Namespace), toDelete{object: "pod " + pod.Name, live: pod})
	if _, replaced := errors.AsType[*Stale](err); replaced {
		return nil
	}
	return err
}

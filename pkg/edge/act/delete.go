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

// readDeleter is the part of a client that reads and deletes objects of one kind.
type readDeleter[T object] interface {
	deleter
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
}

// deleteIf deletes an object if check accepts it as it is in the moment of the deletion. After any change in between
// the object is read and checked again. This process may have stopped for hours after a check, and a pod that failed
// then may serve now. check returns false where nothing is to be deleted. deleted is false in that case, and where
// there is no such object.
func deleteIf[T object](ctx context.Context, client readDeleter[T], name string, d toDelete, check func(live T) (bool, error)) (live T, deleted bool, err error) {
	d.unchanged = true
	for range conflicts.Steps {
		live, err = client.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return live, false, nil
		case err != nil:
			return live, false, failed("get", d.object, err)
		}
		if wanted, err := check(live); err != nil || !wanted {
			return live, false, err
		}
		d.live = live
		found, err := deleteObject(ctx, client, d)
		if _, changed := errors.AsType[*Stale](err); !changed {
			return live, err == nil && found, err
		}
		if err := pauseShortly(ctx); err != nil {
			return live, false, failed("delete", d.object, err)
		}
	}
	return live, false, stale(d.object, "changes all the time")
}

// replacePod deletes a pod if check accepts the pod, so that its StatefulSet recreates it. Where the pod has another
// UID already, or is being deleted, that has been done.
func (a *Actor) replacePod(ctx context.Context, name, uid string, check func(live *corev1.Pod) error) error {
	pods := a.kube.CoreV1().Pods(a.cluster.Namespace)
	_, _, err := deleteIf(ctx, pods, name, toDelete{object: "pod " + name}, func(live *corev1.Pod) (bool, error) {
		if string(live.UID) != uid || live.DeletionTimestamp != nil {
			return false, nil
		}
		return true, check(live)
	})
	return err
}

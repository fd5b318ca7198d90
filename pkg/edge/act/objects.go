package act

import (
	"context"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// conflicts is how often an edit is repeated. The controller of a StatefulSet writes its status often, each time
// with a new version, so conflicts are common and harmless.
var conflicts = wait.Backoff{Steps: 8, Duration: pause}

// pause is the time between two attempts.
const pause = 25 * time.Millisecond

// object is a Kubernetes object, and objects is the client for its kind.
type object interface {
	metav1.Object
	runtime.Object
}

type objects[T object] interface {
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
}

func (a *Actor) apply(ctx context.Context, s step.Apply) error {
	if err := a.recordTemplate(ctx, s); err != nil {
		return err
	}
	switch wanted := s.Object.Manifest.(type) {
	case *corev1.Service:
		return put(ctx, a, a.kube.CoreV1().Services(a.cluster.Namespace), "service", s.Object, wanted)
	case *corev1.ConfigMap:
		return put(ctx, a, a.kube.CoreV1().ConfigMaps(a.cluster.Namespace), "configmap", s.Object, wanted)
	case *policyv1.PodDisruptionBudget:
		return create(ctx, a.kube.PolicyV1().PodDisruptionBudgets(a.cluster.Namespace).Create, "poddisruptionbudget "+wanted.Name, wanted)
	case *appsv1.StatefulSet:
		return a.applySet(ctx, s, wanted)
	}
	return fmt.Errorf("apply %s %s: a %T cannot be applied", s.Object.Kind, s.Object.Name, s.Object.Manifest)
}

// applySet creates or changes a StatefulSet. A record of its kind is from a run that was killed before it created the set.
func (a *Actor) applySet(ctx context.Context, s step.Apply, wanted *appsv1.StatefulSet) error {
	if s.Object.Drift != desired.Missing {
		return put(ctx, a, a.sets(), "statefulset", s.Object, wanted)
	}
	wanted = render.Resized(wanted, s.Replicas, s.Slots)
	if err := a.takesAll(ctx, s.Component, wanted); err != nil {
		return err
	}
	if err := put(ctx, a, a.sets(), "statefulset", s.Object, wanted); err != nil {
		return err
	}
	return a.forgetAdvanced(ctx, wanted)
}

// unchanged fails with a *Stale where a component's StatefulSet has changed since it was observed. A newer version
// of this program may have changed it.
func (a *Actor) unchanged(ctx context.Context, s step.Apply) error {
	name := a.cluster.SetName(s.Component)
	live, err := a.sets().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		live = &appsv1.StatefulSet{}
	case err != nil:
		return failed("get", "statefulset "+name, err)
	}
	return asObserved("statefulset "+name, live, s.Object)
}

// asObserved fails with a *Stale where an object is not the one that was observed any more. It is
// asked of the very object that is then written, since this process may have stopped before.
func asObserved(object string, live metav1.Object, o desired.Object) error {
	_, counts := live.(*appsv1.StatefulSet) // only the spec of a StatefulSet counts: its status changes often
	if counts && live.GetGeneration() != o.Generation || !counts && o.Version != "" && live.GetResourceVersion() != o.Version {
		return stale(object, "was changed by another process")
	}
	return nil
}

// put creates a missing object and changes one that differs. It fails with a *Stale
// where the object has been created or deleted since the step was decided.
func put[T object](ctx context.Context, a *Actor, client objects[T], kind string, o desired.Object, wanted T) error {
	name := kind + " " + wanted.GetName()
	if o.Drift != desired.Missing {
		return change(ctx, a, client, kind, wanted.GetName(), func(live T) (T, error) {
			var none T
			if err := asObserved(name, live, o); err != nil {
				return none, err
			}
			merged, err := render.Merge(live, wanted)
			if err != nil {
				return none, err
			}
			if m, ok := merged.(object).(*corev1.ConfigMap); ok && !maps.Equal(m.Data, any(live).(*corev1.ConfigMap).Data) {
				render.SetWritten(m, a.now())
			}
			return merged.(T), nil
		})
	}
	return create(ctx, client.Create, name, wanted)
}

// create makes an object. It fails with a *Stale where the object has been created since the step was decided.
func create[T object](ctx context.Context, make func(context.Context, T, metav1.CreateOptions) (T, error), name string, wanted T) error {
	_, err := make(ctx, wanted.DeepCopyObject().(T), metav1.CreateOptions{FieldManager: fieldManager})
	switch {
	case apierrors.IsAlreadyExists(err):
		return stale(name, "exists now")
	case err != nil:
		return failed("create", name, err)
	}
	return nil
}

// change edits a live object. After a conflict the object is read again, and the
// edit with its preconditions is repeated on it.
func change[T object](ctx context.Context, a *Actor, client objects[T], kind, name string, edit func(live T) (T, error)) error {
	object := kind + " " + name
	return retry.RetryOnConflict(conflicts, func() error {
		live, err := client.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return stale(object, "is gone")
		case err != nil:
			return failed("get", object, err)
		}
		if err := a.ours(object, live); err != nil {
			return err
		}
		next, err := edit(live)
		if err != nil {
			return err
		}
		next.GetObjectKind().SetGroupVersionKind(live.GetObjectKind().GroupVersionKind())
		if equality.Semantic.DeepEqual(live, next) {
			return nil
		}
		if _, err = client.Update(ctx, next, metav1.UpdateOptions{FieldManager: fieldManager}); err != nil {
			return failed("update", object, err)
		}
		return nil
	})
}

// ours fails if an object may not be changed. An object without a controller is taken over if it has the labels of
// this cluster. Such an object was orphaned when its TidbCluster was deleted and the objects were left.
func (a *Actor) ours(object string, live metav1.Object) error {
	if live.GetDeletionTimestamp() != nil {
		return stale(object, "is being deleted")
	}
	c := metav1.GetControllerOf(live)
	switch {
	case c == nil:
		for key, value := range a.cluster.Selector() {
			if live.GetLabels()[key] != value {
				return &Foreign{Object: object}
			}
		}
		return nil
	case c.UID == a.cluster.UID:
		return nil
	case c.Kind == "TidbCluster" && c.Name == a.cluster.Name:
		return stale(object, "still belongs to a former TidbCluster %s and is about to be deleted with it", c.Name)
	}
	return &Foreign{Object: object, Owner: c.Kind + " " + c.Name}
}

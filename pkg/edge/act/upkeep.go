package act

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// remakePod deletes a pod that waits for a claim which does not exist. It checks once more that the pod has no node
// and that the claim is still missing. If the claim exists now, the pod will start.
func (a *Actor) remakePod(ctx context.Context, s step.RemakePod) error {
	object := "pod " + s.Member
	pod, err := a.kube.CoreV1().Pods(a.cluster.Namespace).Get(ctx, s.Member, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return failed("get", object, err)
	case string(pod.UID) != s.PodUID || pod.DeletionTimestamp != nil:
		return nil // it has been recreated already
	case pod.Spec.NodeName != "":
		return stale(object, "has a node now")
	}
	missing, err := a.missing(ctx, pod, s.Claims)
	if err != nil {
		return err
	}
	if !missing {
		return stale(object, "has all its claims now")
	}
	// Only if it is unchanged: the scheduler may have assigned a node since.
	_, err = deleteObject(ctx, a.kube.CoreV1().Pods(a.cluster.Namespace), toDelete{object: object, live: pod, unchanged: true})
	return err
}

// missing reports whether one of the claims that the pod needs does not exist.
func (a *Actor) missing(ctx context.Context, pod *corev1.Pod, claims []string) (bool, error) {
	for _, name := range claims {
		if !mounts(pod, name) {
			continue
		}
		claim, err := a.claim(ctx, name)
		if err != nil || claim == nil {
			return err == nil, err
		}
	}
	return false, nil
}

// labelStore writes only the labels that differ from those that the store has now.
func (a *Actor) labelStore(ctx context.Context, s step.LabelStore) error {
	client, store, err := a.store(ctx, s.Member, s.StoreID)
	if err != nil {
		return err
	}
	set := map[string]string{}
	for key, value := range s.Labels {
		if store.Labels[key] != value {
			set[key] = value
		}
	}
	if len(set) == 0 {
		return nil
	}
	if err := client.SetStoreLabels(ctx, s.StoreID, set); err != nil {
		return fmt.Errorf("set labels of store %d: %w", s.StoreID, err)
	}
	return nil
}

package act

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
)

// deletePod deletes a pod that can serve no more with the data it has. It asks
// once more whether nobody counts on the member, and whether its own data is
// gone already: else the new pod would get the old data, and with it the old
// trouble.
func (a *Actor) deletePod(ctx context.Context, s plan.DeletePod) error {
	object := "pod " + s.Member
	pod, err := a.kube.CoreV1().Pods(a.cluster.Namespace).Get(ctx, s.Member, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return failed("get", object, err)
	case string(pod.UID) != s.UID || pod.DeletionTimestamp != nil:
		return nil // it has been replaced, or is about to be
	}
	if err := a.forgotten(ctx, object, s.Component, s.Member, false); err != nil {
		return err
	}
	if s.Again && isReady(pod) {
		return stale(object, "is Ready by now")
	}
	if !s.Again {
		if err := a.going(ctx, pod); err != nil {
			return err
		}
	}
	return a.replacePod(ctx, pod)
}

// going makes sure that the claims of a pod go with it: the next pod would get
// the data in them.
func (a *Actor) going(ctx context.Context, pod *corev1.Pod) error {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, err := a.claim(ctx, v.PersistentVolumeClaim.ClaimName)
		if err != nil {
			return err
		}
		if claim != nil && claim.DeletionTimestamp == nil {
			return stale("persistentvolumeclaim "+claim.Name, "is not about to go, so a new pod would get its data")
		}
	}
	return nil
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

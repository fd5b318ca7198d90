package act

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// deletePod deletes a pod that cannot serve any more with its data. It checks once more that PD does not count on
// the member, and that its claims are being deleted already. Otherwise the new pod would get the old data, and would
// fail in the same way.
func (a *Actor) deletePod(ctx context.Context, s step.DeletePod) error {
	object := "pod " + s.Member
	return a.replacePod(ctx, s.Member, s.UID, func(live *corev1.Pod) error {
		if err := a.notInPD(ctx, object, s.Component, s.Member, false); err != nil {
			return err
		}
		switch {
		case !s.Again:
			return a.claimsBeingDeleted(ctx, live)
		case state.Ready(live):
			return stale(object, "is Ready now")
		}
		return nil
	})
}

// claimsBeingDeleted fails if a claim of the pod is not being deleted: the next pod would get its
// data.
func (a *Actor) claimsBeingDeleted(ctx context.Context, pod *corev1.Pod) error {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, err := a.claim(ctx, v.PersistentVolumeClaim.ClaimName)
		if err != nil {
			return err
		}
		if claim != nil && claim.DeletionTimestamp == nil {
			return stale("persistentvolumeclaim "+claim.Name, "is not being deleted, so a new pod would get its data")
		}
	}
	return nil
}

// samePod returns the pod of that name. It fails if the step was decided on another pod.
func (a *Actor) samePod(ctx context.Context, name, uid string) (*corev1.Pod, error) {
	pod, err := a.kube.CoreV1().Pods(a.cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && string(pod.UID) != uid:
		return nil, stale("pod "+name, "was recreated")
	case err != nil:
		return nil, failed("get", "pod "+name, err)
	}
	return pod, nil
}

package act

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
)

// surrender has the volume of a claim go with the claim. A claim without one, or
// whose volume is gone, has nothing to give up; one whose volume belongs to
// another claim by now must not.
func (a *Actor) surrender(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	name := claim.Spec.VolumeName
	if name == "" {
		return nil
	}
	object := "persistentvolume " + name
	v, err := a.kube.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return failed("get", object, err)
	case v.Spec.ClaimRef == nil || v.Spec.ClaimRef.UID != claim.UID:
		return stale(object, "does not belong to claim %s any more", claim.Name)
	case v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete:
		return nil
	}
	return a.tendVolume(ctx, plan.TendVolume{
		Name: name, UID: string(v.UID), Version: v.ResourceVersion, Policy: string(corev1.PersistentVolumeReclaimDelete),
	})
}

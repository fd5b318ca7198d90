package act

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// deleteVolumeWithClaim sets the reclaim policy so that the volume of a claim is deleted with the
// claim. Nothing is to be done for a claim without a volume. A volume that belongs to another claim
// now must not be deleted: this is an error.
func (a *Actor) deleteVolumeWithClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
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
	return a.tendVolume(ctx, step.TendVolume{
		Name: name, UID: string(v.UID), Version: v.ResourceVersion, Policy: string(corev1.PersistentVolumeReclaimDelete),
	})
}

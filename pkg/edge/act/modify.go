package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// errNoAttributes: an API server that does not know a field drops it without an error.
var errNoAttributes = errors.New("this Kubernetes does not store volumeAttributesClassName: it does since 1.34, and before only where VolumeAttributesClasses are switched on")

// modifyClaim asks for another VolumeAttributesClass of a volume. Kubernetes reports whether the storage can do it.
func (a *Actor) modifyClaim(ctx context.Context, s step.ModifyClaim) error {
	object := "persistentvolumeclaim " + s.Name
	claim, err := a.claim(ctx, s.Name)
	switch {
	case err != nil:
		return err
	case claim == nil:
		return stale(object, "is gone")
	case string(claim.UID) != s.UID:
		return stale(object, "has been replaced by another one of that name")
	case claim.DeletionTimestamp != nil:
		return stale(object, "is being deleted")
	case marked(claim):
		return stale(object, "is marked as left over now")
	case attributes(claim) == s.Class:
		return nil
	case attributes(claim) != s.From:
		return stale(object, "has VolumeAttributesClass %s now", attributes(claim))
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": claim.ResourceVersion},
		"spec":     map[string]any{"volumeAttributesClassName": s.Class},
	})
	if err != nil {
		return fmt.Errorf("encode patch of %s: %w", object, err)
	}
	next, err := a.kube.CoreV1().PersistentVolumeClaims(a.cluster.Namespace).Patch(ctx, s.Name,
		types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return stale(object, "has just changed")
	case err != nil:
		return failed("modify", object, err)
	case attributes(next) != s.Class:
		return &callError{call: "modify " + object, err: errNoAttributes, final: true}
	}
	return nil
}

func attributes(claim *corev1.PersistentVolumeClaim) string {
	if name := claim.Spec.VolumeAttributesClassName; name != nil {
		return *name
	}
	return ""
}

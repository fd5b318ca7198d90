package act

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// notStored is the error of a write whose volumeAttributesClassName the API server has dropped. A server that does not
// know a field drops it without an error, and so it would at each further attempt.
func notStored(call string, k topology.Kind) error {
	err := errors.New("this Kubernetes does not store volumeAttributesClassName: it does since 1.34, and before only where a cluster admin has enabled VolumeAttributesClasses")
	return remedy.For(&callError{call: call, err: err, final: true}, remedy.Say("enable VolumeAttributesClasses in Kubernetes, or take volumeAttributesClassName off the volumes of "+k.Title()))
}

// modifyClaim asks for another VolumeAttributesClass of a volume. Kubernetes reports whether the storage can do it.
func (a *Actor) modifyClaim(ctx context.Context, s step.ModifyClaim) error {
	object := "persistentvolumeclaim " + s.Name
	claim, err := a.claimInUse(ctx, s.Name, s.UID, s.Going)
	switch {
	case err != nil:
		return err
	case attributes(claim) == s.Class:
		return nil
	case attributes(claim) != s.From:
		return stale(object, "has VolumeAttributesClass %s now", attributes(claim))
	}
	next, err := a.patchClaim(ctx, "modify", claim, map[string]any{"volumeAttributesClassName": s.Class})
	switch {
	case err != nil:
		return err
	case attributes(next) != s.Class:
		return notStored("modify "+object, s.Component)
	}
	return nil
}

func attributes(claim *corev1.PersistentVolumeClaim) string {
	if name := claim.Spec.VolumeAttributesClassName; name != nil {
		return *name
	}
	return ""
}

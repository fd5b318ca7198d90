package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// label writes single keys, in one request, since a big cluster has many pods and
// claims to label. What others write at the same time is kept.
func (a *Actor) label(ctx context.Context, s step.Label) error {
	patch := func(body []byte) (err error) {
		opts := metav1.PatchOptions{FieldManager: fieldManager}
		switch s.Object {
		case step.PodObject:
			_, err = a.kube.CoreV1().Pods(a.cluster.Namespace).Patch(ctx, s.Name, types.MergePatchType, body, opts)
		case step.ClaimObject:
			_, err = a.kube.CoreV1().PersistentVolumeClaims(a.cluster.Namespace).Patch(ctx, s.Name, types.MergePatchType, body, opts)
		default:
			err = fmt.Errorf("a %s cannot be labelled", s.Object)
		}
		return err
	}
	// A UID cannot be changed, so the API server refuses the patch of another
	// object of the same name. The patch does not depend on the resourceVersion,
	// since that of pods and claims changes often.
	return patched(s.Object+" "+s.Name, patch, merge(s.UID, "", s.Set), nil)
}

// tendVolume sets the labels of a volume, and its reclaim policy if that is to
// change.
func (a *Actor) tendVolume(ctx context.Context, s step.TendVolume) error {
	var spec map[string]any
	if s.Policy != "" {
		spec = map[string]any{"persistentVolumeReclaimPolicy": s.Policy}
	}
	return patched("persistentvolume "+s.Name, func(body []byte) error {
		_, err := a.kube.CoreV1().PersistentVolumes().Patch(ctx, s.Name, types.MergePatchType, body,
			metav1.PatchOptions{FieldManager: fieldManager})
		return err
	}, merge(s.UID, s.Version, s.Set), spec)
}

// merge returns the metadata of a merge patch.
func merge(uid, version string, set state.Identity) map[string]any {
	meta := map[string]any{"uid": uid}
	if version != "" {
		meta["resourceVersion"] = version
	}
	if len(set.Labels) > 0 {
		meta["labels"] = set.Labels
	}
	if len(set.Annotations) > 0 {
		meta["annotations"] = set.Annotations
	}
	return meta
}

// patched applies a merge patch of the given parts. It returns a *Stale where the object has changed or has been
// replaced.
func patched(object string, apply func(body []byte) error, meta, spec map[string]any) error {
	parts := map[string]any{"metadata": meta}
	if spec != nil {
		parts["spec"] = spec
	}
	body, err := json.Marshal(parts)
	if err != nil {
		return fmt.Errorf("encode patch of %s: %w", object, err)
	}
	err = apply(body)
	switch {
	case apierrors.IsConflict(err):
		return stale(object, "has just changed")
	case apierrors.IsNotFound(err), replaced(err):
		return stale(object, "was deleted or recreated")
	case err != nil:
		return failed("patch", object, err)
	}
	return nil
}

// replaced reports whether the patch was refused only because the object has
// another UID now.
func replaced(err error) bool {
	var status *apierrors.StatusError
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.ErrStatus.Details == nil {
		return false
	}
	causes := status.ErrStatus.Details.Causes
	return len(causes) == 1 && causes[0].Field == "metadata.uid"
}

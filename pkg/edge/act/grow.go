package act

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// resizeClaim asks for a larger volume. Kubernetes reports whether the storage can do it.
func (a *Actor) resizeClaim(ctx context.Context, s step.ResizeClaim) error {
	claim, err := a.claimInUse(ctx, s.Name, s.UID, s.Going)
	switch {
	case err != nil:
		return err
	case requested(claim) >= s.Size:
		return nil
	}
	_, err = a.patchClaim(ctx, "resize", claim, map[string]any{"resources": map[string]any{"requests": map[string]any{
		string(corev1.ResourceStorage): s.Size.String(),
	}}})
	return err
}

// claimInUse returns the claim that a step was decided on. It fails with a *Stale where the claim is gone or is to go.
// A claim that was going when the step was decided may go.
func (a *Actor) claimInUse(ctx context.Context, name, uid string, going bool) (*corev1.PersistentVolumeClaim, error) {
	object := "persistentvolumeclaim " + name
	claim, err := a.claim(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case claim == nil:
		return nil, stale(object, "is gone")
	case string(claim.UID) != uid:
		return nil, stale(object, "has been replaced by another one of that name")
	case claim.DeletionTimestamp != nil && !going:
		return nil, stale(object, "is being deleted")
	case marked(claim):
		return nil, stale(object, "is marked as left over now")
	}
	return claim, nil
}

// patchClaim writes fields into the spec of a claim, if nobody has changed the claim since the claim was read.
func (a *Actor) patchClaim(
	ctx context.Context, does string, claim *corev1.PersistentVolumeClaim, spec map[string]any,
) (*corev1.PersistentVolumeClaim, error) {
	object := "persistentvolumeclaim " + claim.Name
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": claim.ResourceVersion}, "spec": spec})
	if err != nil {
		return nil, fmt.Errorf("encode patch of %s: %w", object, err)
	}
	next, err := a.kube.CoreV1().PersistentVolumeClaims(a.cluster.Namespace).Patch(ctx, claim.Name,
		types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil, stale(object, "has just changed")
	case err != nil:
		return nil, failed(does, object, err)
	}
	return next, nil
}

func requested(claim *corev1.PersistentVolumeClaim) topology.Size {
	return topology.SizeOf(*claim.Spec.Resources.Requests.Storage())
}

// recreateSet deletes a StatefulSet without its pods and recreates it in the same step. So the pods have no
// controller only for a moment, and what other writers have added to the StatefulSet is kept. If the run is killed
// in between, the next one creates a StatefulSet that adopts the pods.
func (a *Actor) recreateSet(ctx context.Context, s step.RecreateSet) error {
	wanted, ok := s.Object.Manifest.(*appsv1.StatefulSet)
	if !ok {
		return fmt.Errorf("%s: a %T cannot be created", s, s.Object.Manifest)
	}
	if s.OtherVolumes {
		if err := a.recordTemplate(ctx, step.Apply{Component: s.Component, Object: s.Object}); err != nil {
			return err
		}
	}
	next, err := a.orphan(ctx, s, wanted)
	if next == nil || err != nil {
		return err
	}
	if err := a.waitUntilGone(ctx, s); err != nil {
		return err
	}
	object := "statefulset " + s.Name
	made, err := a.sets().Create(ctx, next, metav1.CreateOptions{FieldManager: fieldManager})
	switch {
	case apierrors.IsAlreadyExists(err):
		return stale(object, "exists now")
	case err != nil:
		return failed("create", object, err)
	}
	return a.forgetAdvanced(ctx, made)
}

// remade returns the StatefulSet to create in place of the live one.
func remade(s step.RecreateSet, live, wanted *appsv1.StatefulSet) (*appsv1.StatefulSet, error) {
	if !s.OtherVolumes {
		return render.Recreated(live, wanted, len(s.Replaced) > 0), nil
	}
	next, err := render.Remade(live, wanted, len(s.Replaced) > 0)
	if err != nil {
		return nil, fmt.Errorf("make statefulset %s again: %w", s.Name, err)
	}
	return next, nil
}

// tryCreate fails if the API server would refuse a StatefulSet, or would drop a VolumeAttributesClass. A refusal after the
// StatefulSet from before is deleted leaves pods without a controller. The dry run has a name that is not in use.
func (a *Actor) tryCreate(ctx context.Context, s step.RecreateSet, next, wanted *appsv1.StatefulSet) error {
	tried := next.DeepCopy()
	tried.Name += "-dry-run"
	made, err := a.sets().Create(ctx, tried, metav1.CreateOptions{FieldManager: fieldManager, DryRun: []string{metav1.DryRunAll}})
	switch {
	case denial.Of(err) == denial.OverQuota:
		return nil // there is no room for one more StatefulSet, and the deletion makes room
	case err != nil:
		return failed("create", "statefulset "+s.Name, err)
	}
	if template := render.OtherAttributes(made, wanted); template != "" {
		return notStored("create statefulset "+s.Name+" with claim template "+template, s.Component)
	}
	return nil
}

// orphan deletes the StatefulSet without its pods and returns the one to create. It returns nil if nothing is
// left to do. Claims stay, also where the StatefulSet owns them because its persistentVolumeClaimRetentionPolicy has
// whenDeleted: Delete. Kubernetes removes the owner references before the StatefulSet is deleted. Its controller
// writes its status often; after a conflict everything is checked again.
func (a *Actor) orphan(ctx context.Context, s step.RecreateSet, wanted *appsv1.StatefulSet) (next *appsv1.StatefulSet, err error) {
	object := "statefulset " + s.Name
	client := a.sets()
	done := false
	alone := toDelete{object: object, propagation: metav1.DeletePropagationOrphan}
	_, deleted, err := deleteIf(ctx, client, s.Name, alone, func(live *appsv1.StatefulSet) (bool, error) {
		if string(live.UID) != s.Basis.UID {
			return false, stale(object, "has been replaced by another one of that name")
		}
		if err := a.ours(object, live); err != nil {
			return false, err
		}
		others := s.OtherVolumes && render.OtherVolumes(s.Component, live, wanted)
		if done = !others && !render.TemplatesDiffer(live, wanted, len(s.Replaced) > 0); done {
			return false, nil
		}
		if err := sameSpec(object, live, s.Basis); err != nil {
			return false, err
		}
		if err := a.replaceable(ctx, s, live, wanted); err != nil {
			return false, err
		}
		if next, err = remade(s, live, wanted); err != nil {
			return false, err
		}
		if err := a.tryCreate(ctx, s, next, wanted); err != nil {
			return false, err
		}
		return true, a.recordAdvanced(ctx, live)
	})
	switch {
	case err != nil || done:
		return nil, err
	case !deleted:
		return nil, stale(object, "is gone")
	}
	return next, nil
}

// replaceable fails if the StatefulSet has unfinished work. It also fails if a claim has not been asked to grow to
// the size in the new StatefulSet.
func (a *Actor) replaceable(ctx context.Context, s step.RecreateSet, live, wanted *appsv1.StatefulSet) error {
	object := "statefulset " + s.Name
	rolls := live.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType && !s.OtherVolumes
	switch {
	case replicas(live) != s.Replicas:
		return stale(object, "has %s, not %d any more", count(replicas(live)), s.Replicas)
	case live.Status.ObservedGeneration < live.Generation:
		return stale(object, "has changed and its controller has yet to see it")
	case rolls && (live.Status.CurrentRevision != live.Status.UpdateRevision || render.Partition(live) < state.OrdinalsOf(live).End()):
		return stale(object, "is being rolled out")
	}
	for _, template := range wanted.Spec.VolumeClaimTemplates {
		for _, n := range state.OrdinalsOf(live).All() {
			claim, err := a.claim(ctx, template.Name+"-"+a.cluster.PodName(s.Component, n))
			if err != nil {
				return err
			}
			if claim == nil || claim.DeletionTimestamp != nil || marked(claim) || slices.Contains(s.Replaced, string(claim.UID)) {
				continue // the next claim of that name has the new size
			}
			size := topology.SizeOf(*template.Spec.Resources.Requests.Storage())
			if there := topology.SizeOf(*claim.Status.Capacity.Storage()); max(requested(claim), there) < size {
				return stale("persistentvolumeclaim "+claim.Name, "has not been asked to grow to %s", size)
			}
		}
	}
	return nil
}

// waitUntilGone waits until the StatefulSet does not exist any more: Kubernetes first removes the
// owner references of its pods.
func (a *Actor) waitUntilGone(ctx context.Context, s step.RecreateSet) error {
	object := "statefulset " + s.Name
	err := wait.PollUntilContextCancel(ctx, pause, true, func(ctx context.Context) (bool, error) {
		live, err := a.sets().Get(ctx, s.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return true, nil
		case err != nil:
			return false, failed("get", object, err)
		case string(live.UID) != s.Basis.UID:
			return false, stale(object, "exists now")
		}
		return false, nil
	})
	if wait.Interrupted(err) {
		return failed("delete", object, context.Cause(ctx))
	}
	return err
}

// takesAll fails if a StatefulSet to create has fewer replicas than there are pods. Kubernetes would delete the pods
// above its replicas.
func (a *Actor) takesAll(ctx context.Context, k topology.Kind, set *appsv1.StatefulSet) error {
	pods, err := a.kube.CoreV1().Pods(a.cluster.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.SelectorFromSet(a.cluster.Labels(k)).String(), // which is the set's selector
	})
	if err != nil {
		return failed("list", "pods", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		n, ok := a.cluster.Ordinal(k, pod.Name)
		if ok && !state.OrdinalsOf(set).Has(n) && pod.DeletionTimestamp == nil {
			return stale("pod "+pod.Name, "is there, and statefulset %s is to have %s", set.Name, count(replicas(set)))
		}
	}
	return nil
}

// pauseShortly is the pause between two attempts.
func pauseShortly(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(pause):
		return nil
	}
}

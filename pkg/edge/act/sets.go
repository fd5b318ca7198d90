package act

import (
	"context"
	"errors"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// edit changes the StatefulSet of a component if the step was decided on this StatefulSet. The object that is written
// is compared with the step, and not an object that was read before. This process may have stood still for hours in
// between, and another process may have begun another rollout.
func (a *Actor) edit(ctx context.Context, k topology.Kind, on step.Basis, edit func(object string, live *appsv1.StatefulSet) (*appsv1.StatefulSet, error)) error {
	name := a.cluster.SetName(k)
	object := "statefulset " + name
	client := a.sets()
	return change(ctx, a, client, "statefulset", name, func(live *appsv1.StatefulSet) (*appsv1.StatefulSet, error) {
		if string(live.UID) != on.UID {
			return nil, stale(object, "has been replaced by another one of that name")
		}
		next, err := edit(object, live)
		if err != nil || next == live { // live itself: the step was done already
			return next, err
		}
		return next, sameSpec(object, live, on)
	})
}

// sameSpec fails with a *Stale where a StatefulSet or its spec has been replaced since a step was decided. The
// status of a StatefulSet changes often, and does not matter.
func sameSpec(object string, live *appsv1.StatefulSet, on step.Basis) error {
	switch {
	case string(live.UID) != on.UID:
		return stale(object, "has been replaced by another one of that name")
	case live.Generation != on.Generation:
		return stale(object, "was changed by another process")
	}
	return nil
}

func (a *Actor) resize(ctx context.Context, s step.Resize) error {
	if err := a.samePods(ctx, s); err != nil {
		return err
	}
	return a.edit(ctx, s.Component, s.Basis, func(object string, live *appsv1.StatefulSet) (*appsv1.StatefulSet, error) {
		have := state.OrdinalsOf(live)
		is := func(replicas int, slots []int) bool {
			return have.Count == replicas && have.Same(topology.Ordinals{Start: have.Start, Count: replicas, Slots: slots})
		}
		switch {
		case len(s.SlotsTo) > 0 && !state.IsAdvanced(live.APIVersion):
			return nil, stale(object, "cannot have ordinals with gaps")
		case is(s.To, s.SlotsTo):
			return live, nil
		case is(s.From, s.SlotsFrom):
			if p := live.Spec.PersistentVolumeClaimRetentionPolicy; s.To < s.From && p != nil && p.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
				return nil, &callError{call: "scale in " + object, err: errTakesClaims, final: true}
			}
			return render.Resized(live, s.To, s.SlotsTo), nil
		case have.Count != s.From:
			return nil, stale(object, "has %s, not %d any more", count(have.Count), s.From)
		}
		return nil, stale(object, "has other slots now")
	})
}

// samePods fails if a member that leaves has another pod than when its removal was decided.
func (a *Actor) samePods(ctx context.Context, s step.Resize) error {
	for _, leaving := range s.Leaving {
		object := "pod " + leaving.Name
		pod, err := a.kube.CoreV1().Pods(a.cluster.Namespace).Get(ctx, leaving.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return failed("get", object, err)
		case string(pod.UID) != leaving.UID:
			return stale(object, "was recreated")
		}
	}
	return nil
}

func (a *Actor) close(ctx context.Context, s step.Close) error {
	return a.edit(ctx, s.Component, s.Basis, func(object string, live *appsv1.StatefulSet) (*appsv1.StatefulSet, error) {
		switch {
		case state.OrdinalsOf(live).End() != s.Partition:
			return nil, stale(object, "has %s now", count(replicas(live)))
		case render.Partition(live) == s.Partition:
			return live, nil
		}
		return render.WithPartition(live, s.Partition), nil
	})
}

// restart lowers the partition to the member's ordinal, and never raises it: the
// members above may be restarted already. A pod that is stuck is deleted after
// that, so that the new pod has the new revision. The pod of a member that a user has named is only
// deleted.
func (a *Actor) restart(ctx context.Context, s step.Restart) error {
	if err := a.flushLog(ctx, s); err != nil {
		return err
	}
	pod, err := a.pod(ctx, s)
	if err != nil {
		return err
	}
	if s.Revision != "" {
		return a.replacePod(ctx, s.Member, s.PodUID, func(live *corev1.Pod) error {
			if err := a.mayRestart(ctx, s, live); err != nil {
				return err
			}
			return a.comesBack(ctx, s)
		})
	}
	if err := a.mayRestart(ctx, s, pod); err != nil {
		return err
	}
	open := min(s.From, s.Ordinal)
	err = a.edit(ctx, s.Component, s.Basis, func(object string, live *appsv1.StatefulSet) (*appsv1.StatefulSet, error) {
		switch have := render.Partition(live); {
		case live.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType:
			return nil, stale(object, "leaves restarts to the user now (OnDelete)")
		case !state.OrdinalsOf(live).Has(s.Ordinal):
			return nil, stale(object, "has only %s now", count(replicas(live)))
		case live.Status.ObservedGeneration < live.Generation:
			return nil, stale(object, "has changed and its controller has yet to see it")
		case pod.Labels[appsv1.ControllerRevisionHashLabelKey] == live.Status.UpdateRevision:
			return nil, stale("pod "+s.Member, "is of the newest revision already")
		case have == open && s.Stuck:
			// Its pod is deleted after that. Another run may have opened the partition in a rollout of its own.
			return live, sameSpec(object, live, s.Basis)
		case have == open:
			return live, nil
		case have != s.From:
			return nil, stale(object, "has partition %d, not %d any more", have, s.From)
		}
		return render.WithPartition(live, open), nil
	})
	if err != nil || !s.Stuck {
		return err
	}
	return a.replacePod(ctx, s.Member, s.PodUID, func(live *corev1.Pod) error { return readyMeanwhile(s, live) })
}

// mayRestart returns an error if a pod must not be taken away any more.
func (a *Actor) mayRestart(ctx context.Context, s step.Restart, pod *corev1.Pod) error {
	if err := readyMeanwhile(s, pod); err != nil {
		return err
	}
	if err := a.keepsClaims(ctx, s.Component, s.Member, pod); err != nil {
		return err
	}
	if err := a.stillUnlisted(ctx, s); err != nil {
		return err
	}
	if err := a.stillEvicting(ctx, s); err != nil {
		return err
	}
	return a.quorumSpares(ctx, s, pod)
}

// stillUnlisted returns an error if a member that may get other volumes has joined the database since that was decided.
// A PD that no store has joined lists none.
func (a *Actor) stillUnlisted(ctx context.Context, s step.Restart) error {
	if !s.Unlisted {
		return nil
	}
	object := "pod " + s.Member
	err := a.notInPD(ctx, object, s.Component, s.Member, true)
	if _, listed := errors.AsType[*Stale](err); listed {
		return stale(object, "runs a member that has joined the database, and its next pod may have other volumes")
	}
	return err
}

// readyMeanwhile returns an error if a pod that was stuck has become Ready since, because the member may serve now.
func readyMeanwhile(s step.Restart, pod *corev1.Pod) error {
	if s.Stuck && !s.Ready && state.Ready(pod) {
		return stale("pod "+s.Member, "is Ready now")
	}
	return nil
}

// comesBack returns an error if Kubernetes would make no new pod for a member, or a pod of another revision than was
// decided on. A user who has named a member has not asked for a change of that member.
func (a *Actor) comesBack(ctx context.Context, s step.Restart) error {
	name := a.cluster.SetName(s.Component)
	object := "statefulset " + name
	live, err := a.sets().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return failed("get", object, err)
	}
	next := live.Status.UpdateRevision
	if live.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType && s.Ordinal < render.Partition(live) {
		next = live.Status.CurrentRevision
	}
	if err := sameSpec(object, live, s.Basis); err != nil {
		return err
	}
	switch {
	case live.DeletionTimestamp != nil:
		return stale(object, "is being deleted")
	case !state.OrdinalsOf(live).Has(s.Ordinal):
		return stale(object, "has only %s now", count(replicas(live)))
	case live.Status.ObservedGeneration < live.Generation:
		return stale(object, "has changed and its controller has yet to see it")
	case next != s.Revision:
		return stale(object, "would make the next pod of revision %s, and not of %s", next, s.Revision)
	}
	return nil
}

// pod returns the pod that a restart was decided for.
func (a *Actor) pod(ctx context.Context, s step.Restart) (*corev1.Pod, error) {
	object := "pod " + s.Member
	pod, err := a.kube.CoreV1().Pods(a.cluster.Namespace).Get(ctx, s.Member, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, stale(object, "is gone")
	case err != nil:
		return nil, failed("get", object, err)
	case string(pod.UID) != s.PodUID:
		return nil, stale(object, "has been replaced")
	case pod.DeletionTimestamp != nil:
		return nil, stale(object, "is terminating")
	}
	return pod, nil
}

// keepsClaims fails if a member would lose its data with its pod while PD counts on the member. PD would wait for
// that member for ever.
func (a *Actor) keepsClaims(ctx context.Context, k topology.Kind, member string, pod *corev1.Pod) error {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil || !strings.HasSuffix(v.PersistentVolumeClaim.ClaimName, "-"+pod.Name) {
			continue // the decision does not know claims of the user
		}
		claim, err := a.claim(ctx, v.PersistentVolumeClaim.ClaimName)
		if err != nil {
			return err
		}
		if claim != nil && claim.DeletionTimestamp != nil {
			return a.notInPD(ctx, "persistentvolumeclaim "+claim.Name+", which goes with its pod,", k, member, false)
		}
	}
	return nil
}

func replicas(set *appsv1.StatefulSet) int { return state.OrdinalsOf(set).Count }

// count returns a number of replicas in words.
func count(n int) string { return remedy.Count(n, "replica", "replicas") }

// deleteSet deletes a StatefulSet in the foreground. So the StatefulSet stays until all of its pods are deleted, and
// the component is not reported as suspended before.
func (a *Actor) deleteSet(ctx context.Context, s step.DeleteSet) error {
	object := "statefulset " + s.Name
	client := a.sets()
	all := toDelete{object: object, propagation: metav1.DeletePropagationForeground}
	_, _, err := deleteIf(ctx, client, s.Name, all, func(live *appsv1.StatefulSet) (bool, error) {
		if string(live.UID) == s.Basis.UID && live.DeletionTimestamp != nil {
			return false, nil
		}
		if err := sameSpec(object, live, s.Basis); err != nil {
			return false, err
		}
		if err := a.ours(object, live); err != nil {
			return false, err
		}
		if p := live.Spec.PersistentVolumeClaimRetentionPolicy; p != nil && p.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
			// Kubernetes would delete the data as well.
			return false, &callError{call: "delete " + object, err: errTakesData, final: true}
		}
		return true, nil
	})
	return err
}

// errTakesClaims: Kubernetes would delete the claims of the members that go, which are to stay, marked.
var errTakesClaims = errors.New("its persistentVolumeClaimRetentionPolicy has whenScaled: Delete, " +
	"which would delete the data of the members that go; set it to Retain first")

var errTakesData = errors.New("its persistentVolumeClaimRetentionPolicy has whenDeleted: Delete, " +
	"which would delete the data as well; set it to Retain first")

package act

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// replaceEnded deletes a pod in a final phase. Both kinds of evidence are read once more. One is the status of the
// pod; the other is whether its kubelet is heard, or else what PD says of the member.
func (a *Actor) replaceEnded(ctx context.Context, s step.ReplaceEnded) error {
	object := "pod " + s.Member
	return a.replacePod(ctx, s.Member, s.UID, func(live *corev1.Pod) error {
		switch {
		case !state.Ended(live):
			return stale(object, "is not in a final phase")
		case runsAny(live):
			return stale(object, "has a container that runs by its status")
		}
		if err := a.keepsClaims(ctx, s.Component, s.Member, live); err != nil {
			return err
		}
		heard, err := a.nodeIsHeard(ctx, live.Spec.NodeName)
		if heard || err != nil {
			return err
		}
		if !s.ByDatabase {
			return stale(object, "ran on node %s, which is not Ready any more", live.Spec.NodeName)
		}
		return a.silent(ctx, s)
	})
}

// runsAny reports whether a container of a pod runs, as its kubelet has said last.
func runsAny(pod *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses),
		func(c corev1.ContainerStatus) bool { return c.State.Running != nil })
}

// nodeIsHeard reports whether Kubernetes hears of a node. One that may not be read counts as not heard.
func (a *Actor) nodeIsHeard(ctx context.Context, name string) (bool, error) {
	node, err := a.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), denial.Missing(err):
		return false, nil
	case err != nil:
		return false, failed("get", "node "+name, err)
	}
	return state.NodeStateOf(node) == state.NodeReady, nil
}

// silent returns an error if PD does not say that a member is down, because the member may serve then.
func (a *Actor) silent(ctx context.Context, s step.ReplaceEnded) error {
	client, err := a.database()
	if err != nil {
		return err
	}
	switch s.Component.Data() {
	case topology.Raft:
		members, err := client.Members(ctx)
		if err != nil {
			return fmt.Errorf("read PD members: %w", err)
		}
		health, err := client.Health(ctx)
		if err != nil {
			return fmt.Errorf("read health of PD members: %w", err)
		}
		for _, m := range members.Members {
			if a.isMember(s.Member, m) && healthy(health, m.ID) {
				return stale("PD member "+s.Member, "is healthy now")
			}
		}
		return nil
	case topology.Store:
		stores, err := client.Stores(ctx)
		if err != nil {
			return fmt.Errorf("read stores: %w", err)
		}
		for _, store := range stores {
			gone := store.State == pd.StoreTombstone || store.StateName == string(state.StoreDisconnected) || store.StateName == string(state.StoreDown)
			if !gone && a.hosts(s.Member, hostOf(store.Address)) {
				return stale(storeName(store.ID), "is %s now", store.StateName)
			}
		}
		return nil
	}
	return stale("pod "+s.Member, "may have a process that runs: its node is not Ready, and nobody else knows")
}

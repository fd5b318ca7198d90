package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

const (
	// look is how often is looked whether a pod serves again. A restart takes seconds.
	look = 100 * time.Millisecond
	// patience is longer than a pod ever takes to serve again.
	patience = 5 * time.Minute
)

// restarts deletes each pod of a cluster that has converged, one at a time and as kubectl delete pod
// does, and waits until the next one of its name serves.
func (t target) restarts(ctx context.Context, client pd.Client) (all restarts, err error) {
	for _, c := range components {
		left, err := t.podsOf(ctx, c.name)
		if err != nil {
			return nil, err
		}
		for len(left) > 0 {
			pod := left[0]
			if c.next != nil {
				if pod, err = c.next(ctx, client, left); err != nil {
					return nil, err
				}
			}
			took, err := t.restart(ctx, client, c, pod)
			if err != nil {
				return nil, fmt.Errorf("restart %s without the plugin: %w", pod, err)
			}
			all = append(all, restart{c.name, took})
			left = slices.DeleteFunc(left, func(name string) bool { return name == pod })
		}
	}
	return all, nil
}

// restart deletes a pod and returns how long it took until the next one of its name serves.
func (t target) restart(ctx context.Context, client pd.Client, c component, pod string) (time.Duration, error) {
	pods := t.node.Kube.CoreV1().Pods(t.plugin.Namespace)
	old, err := pods.Get(ctx, pod, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := pods.Delete(ctx, pod, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &old.UID}}); err != nil {
		return 0, err
	}
	missing := errors.New("the pod was not looked at")
	err = wait.PollUntilContextTimeout(ctx, look, patience, false, func(ctx context.Context) (bool, error) {
		missing = t.replaced(ctx, client, c, old)
		return missing == nil, nil
	})
	if err != nil {
		return 0, fmt.Errorf("%w: %w", err, missing)
	}
	return time.Since(begun), nil
}

// replaced returns what is missing until the successor of a pod serves.
func (t target) replaced(ctx context.Context, client pd.Client, c component, old *corev1.Pod) error {
	now, err := t.node.Kube.CoreV1().Pods(old.Namespace).Get(ctx, old.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return err
	case now.UID == old.UID:
		return errors.New("the pod has not stopped")
	case !workload.Ready(now):
		return errors.New("the pod is not Ready")
	case c.serves == nil:
		return nil
	}
	return c.serves(ctx, client, old.Name)
}

// nextOfPD returns a member that does not lead. Of the leader, which comes last, the leadership is
// moved away first: a deletion of the leader costs an election, which no upgrade has to wait for.
func nextOfPD(ctx context.Context, client pd.Client, left []string) (string, error) {
	leader, err := client.Leader(ctx)
	if err != nil {
		return "", err
	}
	for _, pod := range left {
		if pod != leader.Name {
			return pod, nil
		}
	}
	_, err = moveLeader(ctx, client)
	return left[0], err
}

// healthy returns an error unless PD's leader reaches a member.
func healthy(ctx context.Context, client pd.Client, pod string) error {
	members, err := client.Health(ctx)
	if err == nil && !slices.ContainsFunc(members, func(m pd.MemberHealth) bool { return m.Name == pod && m.Healthy }) {
		err = errors.New("PD does not call the member healthy")
	}
	return err
}

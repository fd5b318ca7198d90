package remove

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
)

// hanging is how long the controller may take to delete a pod, and the pod to end after its grace period. After that
// the wait ends: its host may be gone.
const hanging = 10 * time.Second

// serversFirst has the members end that need the others to end with: the TiDB servers. Kubernetes deletes everything
// at once. A server that finds no PD tries to reach PD until the server is killed, at the end of its grace period.
//
// Nothing depends on that order. If another process drives the cluster, which would bring the
// servers back, or if any step fails, all are deleted at once. No other process becomes the driver
// before release, which is called when the TidbCluster is deleted.
func (r remains) serversFirst(ctx context.Context) (release func()) {
	t := lease.TargetOf(r.cluster)
	found, err := lease.NewOperators(r.kube).Find(ctx, t)
	if _, drives := found.Driving(t); err != nil || drives {
		return func() {}
	}
	held, err := lease.Acquire(ctx, r.kube, r.cluster, lease.Self())
	if err != nil {
		return func() {}
	}
	if r.deleteServers(held.Context()) {
		r.waitForServers(held.Context())
	}
	return func() { _ = held.Release() } // otherwise it expires, and it is deleted with the TidbCluster
}

// deleteServers deletes the StatefulSets of the servers, and reports whether it did.
func (r remains) deleteServers(ctx context.Context) bool {
	pods, err := r.pods(ctx)
	if err != nil {
		return false
	}
	deleted, advanced := false, observe.HasAdvanced(pods)
	for _, k := range topology.Kinds() {
		deleted = k.EndsFirst() && r.deleteSet(ctx, r.cluster.SetName(k), advanced) || deleted
	}
	return deleted
}

func (r remains) deleteSet(ctx context.Context, name string, advanced bool) bool {
	client := sets.Of(r.kube, r.cluster.Namespace, advanced)
	set, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false
	}
	if owner := metav1.GetControllerOf(set); owner == nil || owner.UID != r.cluster.UID {
		return false // nor would Kubernetes delete it
	}
	background := metav1.DeletePropagationBackground
	return client.Delete(ctx, set.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(set.UID)), PropagationPolicy: &background,
	}) == nil
}

// waitForServers waits until no server is left that is about to end.
func (r remains) waitForServers(ctx context.Context) {
	watch, stop := context.WithCancel(ctx)
	defer stop()
	r.say(fmt.Sprintf("deleting cluster %s/%s: its TiDB servers end first", r.cluster.Namespace, r.cluster.Name))
	nudges, begun := observe.Watch(watch, r.meta, r.cluster), time.Now()
	for {
		pods, err := r.pods(ctx)
		if err != nil || !ending(pods, begun, time.Now()) {
			return
		}
		select {
		case <-nudges:
		case <-time.After(time.Second): // a pod may have passed its grace period
		case <-ctx.Done():
			return
		}
	}
}

// ending reports whether a server among the pods is about to end by itself.
func ending(pods []corev1.Pod, begun, now time.Time) bool {
	for _, p := range pods {
		due := begun
		if at := p.DeletionTimestamp; at != nil {
			due = at.Time
		}
		if topology.Kind(p.Labels[topology.LabelComponent]).EndsFirst() && now.Before(due.Add(hanging)) {
			return true
		}
	}
	return false
}

// undeleted returns the error of a run that was interrupted while the servers ended.
func undeleted(ctx context.Context, c topology.Cluster) error {
	cause := context.Cause(ctx)
	return exit.With(exit.Of(cause), remedy.For(
		fmt.Errorf("interrupted: TidbCluster %s/%s is not deleted yet", c.Namespace, c.Name),
		remedy.Say("run the same command again, which goes on"), remedy.Run("bring its TiDB servers back", c.Plugin("sync"))))
}

// Package start makes what a cluster is driven with: the observer that reads it, and of
// its engine all that reads or writes. A command in the foreground and a daemon start
// from here, so that they differ only in what they set themselves: when they look, when
// they end and how they hold the lease.
package start

import (
	"context"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/act"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Connections are what clusters are reached by.
type Connections struct {
	Kube   kubernetes.Interface
	Intent *intent.Client
	Dialer dial.Dialer
	// Now is the time that is decided by, which is that of Kubernetes.
	Now func() time.Time
}

// Observer makes the observer of a cluster, which need not exist.
func (c Connections) Observer(namespace, name string) *observe.Observer {
	return observe.New(c.Kube, c.Dialer, func(ctx context.Context) (*v1alpha1.TidbCluster, error) {
		return c.Intent.Load(ctx, namespace, name)
	}, c.Now)
}

// Look sets what an engine decides by and whom it tells. Without Drive it changes
// nothing. atOnce is how many small corrections it makes at the same time.
func (c Connections) Look(e *reconcile.Engine, policy plan.Policy, story *reconcile.Story, atOnce int) {
	e.Want, e.Profiles, e.Policy, e.Story = render.Want, component.Profiles(), policy, story
	e.Upkeep = reconcile.NewUpkeep(atOnce, c.Now)
}

// Drive has an engine change the cluster that o observes. It is for the very
// TidbCluster that was read: what is made belongs to its UID. The status is written
// through status.
func (c Connections) Drive(e *reconcile.Engine, o *observe.Observer, cluster topology.Cluster, status act.Intent) {
	e.Actor = act.New(c.Kube, c.Intent, o.PD, cluster, c.Now)
	e.Recorder = act.NewRecorder(status)
}

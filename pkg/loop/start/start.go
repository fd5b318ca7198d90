// Package start makes the observer and the engine of a cluster, for a foreground command and for the daemon. So the
// command and the daemon set only three things themselves: when to take a turn, when to end and how to hold the
// lease.
package start

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/act"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/partlock"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// profiles are what all engines decide by. A daemon has an engine for each cluster, and does not keep a copy for each.
var profiles = component.Profiles()

// Connections are the clients that reach the clusters.
type Connections struct {
	Kube   kubernetes.Interface
	Intent *intent.Client
	Dialer dial.Dialer
	// Restricted refuses clusters whose pods could do more than those of a user without rights on the host.
	Restricted bool
	// AllowsPart fails for a part with the PD of a namespace that does not let the part in. It is asked before anything else
	// of the part is read. nil: the driver has no more rights than its user, so that there is nothing to ask.
	AllowsPart func(context.Context, topology.Cluster) error
	// Now is the time for decisions, by the clock of the API server.
	Now func() time.Time
}

// Observer returns the observer of a cluster, which need not exist.
func (c Connections) Observer(namespace, name string) *observe.Observer {
	o := observe.New(c.Kube, c.Dialer, func(ctx context.Context) (*v1alpha1.TidbCluster, error) {
		tc, err := c.Intent.Load(ctx, namespace, name)
		if err != nil || c.AllowsPart == nil {
			return tc, err
		}
		return tc, c.AllowsPart(ctx, topology.New(tc))
	}, c.Now)
	o.Joining(c.Intent.Parts)
	return o
}

// Want returns what is wanted of a cluster, or why it is refused. A TidbCluster may be changed at any time and by
// anybody, so it is validated in each turn. Otherwise fields that are not supported would be ignored.
func (c Connections) Want(o state.Observation) (desired.State, error) {
	if invalid := topology.Validate(o.Cluster); len(invalid) > 0 {
		return desired.State{}, &render.RefusedError{Fields: invalid}
	}
	if c.Restricted {
		return render.Restricted(o)
	}
	return render.Want(o)
}

// Follow sets how an engine decides and where it reports to. Without Drive the engine changes
// nothing. atOnce is how many steps of upkeep it takes at the same time.
func (c Connections) Follow(e *reconcile.Engine, policy plan.Policy, progress *reconcile.Progress, atOnce int) {
	e.Want, e.Profiles, e.Policy, e.Progress = c.Want, profiles, policy, progress
	e.Upkeep = reconcile.NewUpkeep(atOnce, c.Now)
}

// Drive has an engine change the cluster that o observes. It is valid for the TidbCluster that was read and not for
// its name, because new objects belong to the UID of that TidbCluster. The status is written through status.
func (c Connections) Drive(e *reconcile.Engine, o *observe.Observer, cluster topology.Cluster, status act.Intent) {
	notice := func(reason event.NoticeReason) func(string) {
		return func(text string) {
			if e.Progress != nil {
				e.Progress.Notice(reason, text)
			}
		}
	}
	e.Actor = act.New(c.Kube, c.Intent, o.PD, cluster, c.Now).OnSets(o.Sets).OnTiCDC(o.TiCDC).OnPump(o.Pump).OnService(o.PDService).OnTiDB(c.root(cluster)).
		OnDDL(act.DDL{CanPause: o.CanPauseDDL, Pause: o.PauseDDL, Resume: o.ResumeDDL, Notice: notice(event.DDLNotPaused)}).
		OnLogBackup(act.LogBackups{Flush: o.FlushLog, Notice: notice(event.LogBackupNotFlushed)})
	e.Recorder = act.NewRecorder(status)
	e.Parts = partlock.New(o.PD, cluster, lease.Self().Describe())
}

// root returns what makes a client that logs in to a TiDB server of a cluster as root.
func (c Connections) root(cluster topology.Cluster) func(addr string, with *tls.Config) act.Root {
	members := dial.Of(c.Dialer, cluster)
	return func(addr string, with *tls.Config) act.Root {
		return tidb.Root{Addr: addr, Dial: members.DialContext, TLS: with}
	}
}

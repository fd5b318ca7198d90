// Package act takes steps: one switch over step.Step, and one method for each
// that makes API calls and decides nothing.
//
// Every step first checks with live reads that the cluster is still as it was when the step was decided. What is
// compared is a UID, an id, replicas or a partition. Where the cluster has changed, the step changes nothing and
// fails with a *Stale, and the loop observes again. A step that was done already succeeds, so that it can be
// repeated when only its answer was lost.
//
// Writes to Kubernetes are conditional on what was read. On a conflict the object is read and checked again. To
// write the old decision onto the new object would undo the change of another writer.
package act

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pump"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ticdc"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
)

// fieldManager is the name under which the API server records what we wrote.
const fieldManager = "kubectl-tidb"

// Actor takes the steps of one cluster. It implements reconcile.Actor. It is for one TidbCluster and not for a name.
// What an Actor creates belongs to the UID in topology.Cluster, and is deleted with that TidbCluster.
type Actor struct {
	kube    kubernetes.Interface
	sets    func() sets.Client // of the kind that the cluster has
	intent  PauseEnder
	pd      func() pd.Client
	ticdc   func(c topology.Cluster, ordinal int) *ticdc.Client
	pump    func(c topology.Cluster, ordinal int) *pump.Client
	service func(c topology.Cluster, k topology.Kind, ordinal int) *pd.ServiceClient
	tidb    func(addr string, with *tls.Config) Root
	ddl     DDL
	cluster topology.Cluster
	// logBackups flushes log backups, and flushed are the pods that were asked to, by UID.
	logBackups LogBackups
	flushed    map[string]bool
	owner      string // names this driver in the ledger
	now        func() time.Time
}

// New returns an Actor. The pd function returns a client of the cluster's PD, nil
// before PD runs, when there is no address for one.
func New(kube kubernetes.Interface, intent PauseEnder, pd func() pd.Client, c topology.Cluster, now func() time.Time) *Actor {
	plain := func() sets.Client { return sets.Of(kube, c.Namespace, false) }
	return &Actor{kube: kube, sets: plain, intent: intent, pd: pd, cluster: c, owner: lease.Self().String(), now: now}
}

// Do takes one step.
func (a *Actor) Do(ctx context.Context, s step.Step) error {
	return denial.Explain(a.cluster.Namespace, a.take(ctx, s))
}

func (a *Actor) take(ctx context.Context, next step.Step) error {
	switch s := next.(type) {
	case step.Apply:
		return a.apply(ctx, s)
	case step.Resize:
		return a.resize(ctx, s)
	case step.Restart:
		return a.restart(ctx, s)
	case step.Close:
		return a.close(ctx, s)
	case step.BeginBatches:
		return a.beginBatches(ctx, s)
	case step.EndBatches:
		return a.endBatches(ctx, s)
	case step.MoveLeader:
		return a.moveLeader(ctx, s)
	case step.MovePrimary:
		return a.movePrimary(ctx, s)
	case step.RemoveMember:
		return a.removeMember(ctx, s)
	case step.EvictLeaders:
		return a.evictLeaders(ctx, s)
	case step.LimitLeaderMoves:
		return a.limitLeaderMoves(ctx, s)
	case step.HoldRegions:
		return a.holdRegions(ctx)
	case step.AdoptEviction:
		return a.adoptEviction(ctx, s)
	case step.AllowLeaders:
		return a.allowLeaders(ctx, s)
	case step.RemoveStore:
		return a.removeStore(ctx, s)
	case step.RestoreStore:
		return a.restoreStore(ctx, s)
	case step.ForgetRecord:
		return a.forgetRecord(ctx, s)
	case step.AdoptDrain:
		return a.adoptDrain(ctx, s)
	case step.DrainCapture:
		return a.drainCapture(ctx, s)
	case step.ForgetDrain:
		return a.forgetDrain(ctx, s)
	case step.ClosePump:
		return a.closePump(ctx, s)
	case step.SetPassword:
		return a.setPassword(ctx, s)
	case step.BeginDDLPause:
		return a.beginDDLPause(ctx, s)
	case step.EndDDLPause:
		return a.endDDLPause(ctx, s)
	case step.EnableRules:
		return a.enableRules(ctx)
	case step.ResizeClaim:
		return a.resizeClaim(ctx, s)
	case step.ModifyClaim:
		return a.modifyClaim(ctx, s)
	case step.RecreateSet:
		return a.recreateSet(ctx, s)
	case step.MarkClaims:
		return a.markClaims(ctx, s)
	case step.UnmarkClaims:
		return a.unmarkClaims(ctx, s)
	case step.DeleteClaim:
		return a.deleteClaim(ctx, s)
	case step.DeletePod:
		return a.deletePod(ctx, s)
	case step.ReplaceEnded:
		return a.replaceEnded(ctx, s)
	case step.DeleteSet:
		return a.deleteSet(ctx, s)
	case step.RecordFailure:
		return a.recordFailure(ctx, s)
	case step.RetireFailure:
		return a.retireFailure(ctx, s)
	case step.ForgetFailure:
		return a.forgetFailure(ctx, s)
	case step.EndPause:
		return a.endPause(ctx, s)
	case step.Label:
		return a.label(ctx, s)
	case step.TendVolume:
		return a.tendVolume(ctx, s)
	case step.RemakePod:
		return a.remakePod(ctx, s)
	case step.LabelStore:
		return a.labelStore(ctx, s)
	}
	return fmt.Errorf("take step %T: no such step is known", next)
}

// OnSets sets what returns a client for the StatefulSets of the cluster.
func (a *Actor) OnSets(client func() sets.Client) *Actor {
	a.sets = client
	return a
}

// OnTiCDC sets what returns a client of the capture in a member's pod.
func (a *Actor) OnTiCDC(client func(c topology.Cluster, ordinal int) *ticdc.Client) *Actor {
	a.ticdc = client
	return a
}

// OnPump sets what returns a client of the Pump in a member's pod.
func (a *Actor) OnPump(client func(c topology.Cluster, ordinal int) *pump.Client) *Actor {
	a.pump = client
	return a
}

// OnService sets what returns a client of the member of a service of PD in a pod.
func (a *Actor) OnService(client func(c topology.Cluster, k topology.Kind, ordinal int) *pd.ServiceClient) *Actor {
	a.service = client
	return a
}

// OnTiDB sets the function that returns a client for a TiDB server. The client logs in as root; with is nil for a
// connection without TLS.
func (a *Actor) OnTiDB(client func(addr string, with *tls.Config) Root) *Actor {
	a.tidb = client
	return a
}

func (a *Actor) database() (pd.Client, error) {
	if client := a.pd(); client != nil {
		return client, nil
	}
	return nil, errors.New("ask PD: no member of it is known yet")
}

// hosts reports whether an address in PD is the address of a member's pod.
func (a *Actor) hosts(member, host string) bool {
	k, n, ok := a.cluster.Member(member)
	if !ok {
		return false
	}
	at, here := a.cluster.HostOrdinal(k, host)
	return here && at == n
}

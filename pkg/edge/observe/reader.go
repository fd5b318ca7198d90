package observe

import (
	"context"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// reader says how the members of one component are read, besides what PD says about them. A new
// component needs a new row.
type reader struct {
	kind topology.Kind
	// ask asks the members themselves, where what PD and Kubernetes say is missing, late or
	// contradictory; nil where they are not asked.
	ask func(*Observer, context.Context, topology.Cluster, []state.Member)
	// unhealthySince returns since when the status of the TidbCluster shows a member as unhealthy, zero where it
	// does not. unhealthySince is nil where PD has a last heartbeat for that.
	unhealthySince func(v1alpha1.TidbClusterStatus, *state.Member) time.Time
	// shows is a port on which members show their certificate where the cluster has TLS.
	shows int
}

var readers = []reader{
	{kind: topology.PD, ask: (*Observer).askMembers, unhealthySince: pdUnhealthySince, shows: topology.PDClientPort},
	{kind: topology.TSO, ask: (*Observer).askServices, shows: topology.PDClientPort},
	{kind: topology.Scheduling, ask: (*Observer).askServices, shows: topology.PDClientPort},
	{kind: topology.TiProxy, ask: (*Observer).askProxies, unhealthySince: tiproxyUnhealthySince},
	{kind: topology.TiKV, ask: (*Observer).askStores, shows: topology.TiKVStatusPort},
	{kind: topology.TiFlash, ask: (*Observer).askTiFlash, shows: topology.TiFlashProxyStatusPort},
	{kind: topology.Pump, shows: topology.PumpPort},
	{kind: topology.TiDB, ask: (*Observer).askServers, unhealthySince: tidbUnhealthySince, shows: topology.TiDBStatusPort},
	{kind: topology.TiCDC, ask: (*Observer).askCaptures, shows: topology.TiCDCPort},
}

// readerOf returns the row of a component.
func readerOf(k topology.Kind) reader {
	for _, r := range readers {
		if r.kind == k {
			return r
		}
	}
	panic("observe: no reader of component " + string(k))
}

// fillInSince fills in since when members are unhealthy where only the status says so. For a process that runs and does
// not serve, neither Kubernetes nor PD keeps that time.
func (r reader) fillInSince(status v1alpha1.TidbClusterStatus, members []state.Member) {
	if r.unhealthySince == nil {
		return
	}
	for i := range members {
		m := &members[i]
		if m.Database.Presence == state.Present && !m.Database.Healthy && m.Database.Since.IsZero() {
			m.Database.Since = r.unhealthySince(status, m)
		}
	}
}

func pdUnhealthySince(status v1alpha1.TidbClusterStatus, m *state.Member) time.Time {
	if was, ok := status.PD.Members[m.Database.Name]; ok && !was.Health {
		return was.LastTransitionTime.Time
	}
	return time.Time{}
}

func tiproxyUnhealthySince(status v1alpha1.TidbClusterStatus, m *state.Member) time.Time {
	if was, ok := status.TiProxy.Members[m.Name]; ok && !was.Health {
		return was.LastTransitionTime.Time
	}
	return time.Time{}
}

func tidbUnhealthySince(status v1alpha1.TidbClusterStatus, m *state.Member) time.Time {
	if was, ok := status.TiDB.Members[m.Name]; ok && !was.Health {
		return was.LastTransitionTime.Time
	}
	return time.Time{}
}

package observe

import (
	"context"
	"errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tikv"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// FlushLog has the store of a member flush its log backup. It has a connection of its own, since a flush takes longer
// than any other request.
func (o *Observer) FlushLog(ctx context.Context, c topology.Cluster, ordinal int) ([]tikv.Flushed, error) {
	if o.members == nil {
		return nil, errors.New("the cluster was not observed yet")
	}
	over := dial.Transport(o.members.DialContext, o.credentials.config)
	defer over.CloseIdleConnections()
	return tikv.Flush(ctx, over, c.MemberURL(topology.TiKV, ordinal, topology.TiKVServerPort))
}

// LogBackups returns the tasks of log backup of the cluster that was observed last; none while PD does not answer.
func (o *Observer) LogBackups(ctx context.Context, s state.Snapshot) ([]state.LogBackup, error) {
	if o.pd == nil || !s.PD.Known() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	tasks, err := o.pd.LogBackups(ctx)
	if err != nil {
		return nil, err
	}
	var all []state.LogBackup
	for _, t := range tasks {
		b := state.LogBackup{Task: t.Task, Paused: t.Paused}
		if now := t.Answered; !t.Checkpoint.IsZero() && now.After(t.Checkpoint) {
			b.Behind = now.Sub(t.Checkpoint)
		}
		all = append(all, b)
	}
	return all, nil
}

package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// DDLPaused returns the name of the TiDB server that says that DDL statements of users are paused for an upgrade. It
// is "" where DDL is not paused, or no server can say so. A server that was observed to serve is asked, since all
// servers know the same.
func (o *Observer) DDLPaused(ctx context.Context, c topology.Cluster, s state.Snapshot) string {
	servers := s.Groups[topology.TiDB].InSet()
	i := slices.IndexFunc(servers, state.Member.Up)
	if i < 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if paused, err := o.tidb.DDLPaused(ctx, c.PodHost(topology.TiDB, servers[i].Ordinal)); err != nil || !paused {
		return ""
	}
	return servers[i].Name
}

// CanPauseDDL returns an error if the TiDB server in a member's pod cannot pause DDL, as tidb.Client.CanPauseDDL does.
func (o *Observer) CanPauseDDL(ctx context.Context, c topology.Cluster, ordinal int) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return o.tidb.CanPauseDDL(ctx, c.PodHost(topology.TiDB, ordinal))
}

// pauseTimeout is how long TiDB may take to pause DDL. It waits up to ten seconds for the server that runs DDL jobs.
const pauseTimeout = 30 * time.Second

// PauseDDL has the TiDB server in a member's pod pause the DDL statements of users, as tidb.Client.PauseDDL does. It
// has a connection of its own, since TiDB takes longer for this than for other requests.
func (o *Observer) PauseDDL(ctx context.Context, c topology.Cluster, ordinal int) error {
	if o.members == nil {
		return errors.New("pause DDL statements: the cluster was not observed yet")
	}
	over := dial.Client(o.members.DialContext, o.credentials.config, pauseTimeout)
	defer over.CloseIdleConnections()
	asks := tidb.Client{HTTP: over, Scheme: o.tidb.Scheme}
	return asks.PauseDDL(ctx, c.PodHost(topology.TiDB, ordinal))
}

// ResumeDDL has the TiDB server in a member's pod end a pause of the DDL statements of users.
func (o *Observer) ResumeDDL(ctx context.Context, c topology.Cluster, ordinal int) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := o.tidb.ResumeDDL(ctx, c.PodHost(topology.TiDB, ordinal)); err != nil {
		return fmt.Errorf("let DDL statements run again: %w", err)
	}
	return nil
}

package observe

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// schemaTimeout bounds all requests for tables. There is one for each database.
const schemaTimeout = time.Minute

// Holds returns what the database has of a table, of a database or of all databases of users, as tidb.Client.Holds does. A
// server that was observed to serve is asked.
func (o *Observer) Holds(ctx context.Context, c topology.Cluster, s state.Snapshot, db, table string) (string, error) {
	servers := s.Groups[topology.TiDB].InSet()
	i := slices.IndexFunc(servers, state.Member.Up)
	if i < 0 {
		return "", errors.New("no TiDB server can be asked for its tables")
	}
	ctx, cancel := context.WithTimeout(ctx, schemaTimeout)
	defer cancel()
	return o.tidb.Holds(ctx, c.PodHost(topology.TiDB, servers[i].Ordinal), db, table)
}

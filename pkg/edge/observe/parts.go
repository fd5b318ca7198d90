package observe

import (
	"context"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// lockedBy says which other part of the database takes members away now, "" for none. Where that cannot be read, no
// part is named. A driver that takes the lock asks PD again.
func lockedBy(ctx context.Context, client pd.Client, c topology.Cluster) string {
	l, err := client.Lock(ctx)
	if err != nil || l == nil || l.UID == string(c.UID) {
		return ""
	}
	return (&pd.LockedError{By: *l}).Error()
}

package backup

import (
	"context"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// EndSafePoint deletes the service safepoint of a BR that has ended. It reports whether PD had it. PD deletes it by
// itself some minutes after BR has ended, and keeps all data from garbage collection until then.
func EndSafePoint(ctx context.Context, client pd.Client, id string) (had bool, err error) {
	all, err := client.ServiceSafePoints(ctx)
	if err != nil || !slices.ContainsFunc(all, func(s pd.ServiceSafePoint) bool { return s.ID == id }) {
		return false, err
	}
	return true, client.DeleteServiceSafePoint(ctx, id)
}

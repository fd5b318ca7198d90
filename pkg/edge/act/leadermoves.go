package act

import (
	"context"
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// limitingVersion is the first release that is known to keep such a setting for a while. Older releases may
// answer that they do, and keep their own.
const limitingVersion = "v6.1.0"

// limitLeaderMoves needs no record: PD ends the limit by itself.
func (a *Actor) limitLeaderMoves(ctx context.Context, s step.LimitLeaderMoves) error {
	return a.forAWhile(ctx, "limit how many leaders PD moves at a time", "max-leader-moves", func(client pd.Client) error {
		return client.LimitLeaderMoves(ctx, s.Limit, step.LimitLasts)
	})
}

// holdRegions needs no record either.
func (a *Actor) holdRegions(ctx context.Context) error {
	return a.forAWhile(ctx, "have PD move no regions", "concurrency", func(client pd.Client) error {
		return client.HoldRegions(ctx, step.LimitLasts)
	})
}

// forAWhile sets something in PD that PD ends by itself. The flag is the one without which the call is not needed.
func (a *Actor) forAWhile(ctx context.Context, call, flag string, set func(pd.Client) error) error {
	client, err := a.database()
	if err != nil {
		return err
	}
	version, err := client.ServerVersion(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	if old, err := topology.IsDowngrade(limitingVersion, version); err == nil && old {
		err = fmt.Errorf("PD %s cannot do that for a while, PD can from %s on: run the command without --%s", version, limitingVersion, flag)
		return &callError{call: call, err: err, final: true}
	}
	if err := set(client); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	return nil
}

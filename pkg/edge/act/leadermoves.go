package act

import (
	"context"
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// limitingVersion is the first release that is known to keep a limit of leader moves for a while. Older releases may
// answer that they do, and keep their own.
const limitingVersion = "v6.1.0"

// limitLeaderMoves needs no record: PD ends the limit by itself.
func (a *Actor) limitLeaderMoves(ctx context.Context, s step.LimitLeaderMoves) error {
	client, err := a.database()
	if err != nil {
		return err
	}
	const call = "limit how many leaders PD moves at a time"
	version, err := client.ServerVersion(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	if old, err := topology.IsDowngrade(limitingVersion, version); err == nil && old {
		err = fmt.Errorf("PD %s cannot do that for a while, PD can from %s on: run the command without --max-leader-moves", version, limitingVersion)
		return &callError{call: call, err: err, final: true}
	}
	if err := client.LimitLeaderMoves(ctx, s.Limit, step.LimitLasts); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	return nil
}

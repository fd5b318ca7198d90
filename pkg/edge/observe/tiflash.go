package observe

import (
	"context"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tiflash"
)

// askTiFlash asks each TiFlash store for its own state. PD may call a store Up whose queries fail:
// it hears of the part that copies regions only. And it calls a store Up for 20 s after its process
// has ended. A version that does not report its state is taken as PD has it.
func (o *Observer) askTiFlash(ctx context.Context, c topology.Cluster, members []state.Member) {
	client := tiflash.Client{HTTP: o.http, Scheme: c.Scheme()}
	o.each(ctx, members, func(ctx context.Context, m *state.Member) {
		d := &m.Database
		switch {
		case !runs(m) || d.State == state.StoreTombstone:
			return
		case listsNone(m):
			askUnlistedTiFlash(ctx, client, c, m)
			return
		case d.Presence != state.Present && !m.Pod.Started.IsZero():
			return
		}
		is, err := client.State(ctx, c.PodHost(m.Kind, m.Ordinal))
		switch {
		case err != nil:
			d.Answer = answerOf(err)
		case is == "":
		case is != tiflash.Running:
			// It says so itself, whatever PD has heard.
			d.Healthy, d.Answer, d.Listening, d.Problem = false, state.Refused, true, "TiFlash reports that it is "+is
		case unproven(m), awaited(m, o.now()):
			d.Answer, d.Healthy, d.Problem, d.Since = state.Answered, true, "", time.Time{}
		default:
			d.Answer = state.Answered
			if heartbeatOverdue(m, o.now()) {
				d.Problem = "PD has not heard from the store, but the store itself answers"
			}
		}
	})
}

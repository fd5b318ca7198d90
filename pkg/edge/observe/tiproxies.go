package observe

import (
	"context"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tiproxy"
)

// askProxies asks each TiProxy whether it serves. A pod of TiProxy has no probe, and is Ready as soon as its process
// runs. So only TiProxy's own answer shows that it serves.
//
// TiProxy's certificate is not verified, because it may be the certificate of TiDB, which does not have the names of
// TiProxy. Nothing is told to it, and only its health is asked.
func (o *Observer) askProxies(ctx context.Context, c topology.Cluster, members []state.Member) {
	client := tiproxy.Client{HTTP: o.unverified, Scheme: c.TiProxyScheme()}
	o.each(ctx, members, func(ctx context.Context, m *state.Member) {
		if !runs(m) {
			return
		}
		health, err := client.Health(ctx, c.PodHost(m.Kind, m.Ordinal))
		d := &m.Database
		switch d.Answer = answerOf(err); {
		case d.Answer == state.Refused:
			d.Presence, d.Problem = state.Present, "API port refuses connections"
		case err != nil:
			d.Problem = "API port could not be asked: " + whyNoAnswer(err)
		case health == tiproxy.Draining:
			d.Presence, d.Answer, d.Listening, d.Draining, d.Problem = state.Present, state.Refused, true, true, "takes no more connections, and is about to end"
		case health != tiproxy.Healthy:
			d.Presence, d.Answer, d.Listening, d.Problem = state.Present, state.Refused, true, "health page reports an error"
		default:
			d.Presence, d.Healthy = state.Present, true
		}
	})
}

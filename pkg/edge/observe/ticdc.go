package observe

import (
	"context"
	"errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ticdc"
)

// TiCDC returns a client of the capture in a member's pod.
func (o *Observer) TiCDC(c topology.Cluster, ordinal int) *ticdc.Client {
	return &ticdc.Client{HTTP: o.http, URL: c.MemberURL(topology.TiCDC, ordinal, topology.TiCDCPort)}
}

// askCaptures asks each capture whether it serves, and what TiCDC says of all of them. Its pod has no probe, and is
// Ready as soon as its process runs.
func (o *Observer) askCaptures(ctx context.Context, c topology.Cluster, members []state.Member) {
	o.each(ctx, members, func(ctx context.Context, m *state.Member) {
		if !runs(m) {
			return
		}
		client := o.TiCDC(c, m.Ordinal)
		status, err := client.Status(ctx)
		d := &m.Database
		switch d.Answer = answerOf(err); {
		case d.Answer == state.Refused:
			d.Presence, d.Problem = state.Present, "port refuses connections"
		case err != nil:
			d.Problem = "could not be asked: " + whyNoAnswer(err)
		default:
			d.Presence, d.Version = state.Present, status.Version
			d.Capture = state.Capture{ID: status.ID, Owner: status.Owner}
			d.Problem = askTiCDC(ctx, client, &d.Capture)
			d.Healthy = d.Problem == ""
		}
	})
}

// askTiCDC asks TiCDC about its captures. It returns why this capture does not serve, "" if it does or that is not
// known.
func askTiCDC(ctx context.Context, client *ticdc.Client, own *state.Capture) string {
	own.Feeds = state.FeedsUnknown
	all, err := client.Captures(ctx)
	switch {
	case errors.Is(err, ticdc.ErrUnsupported):
		own.Drains = state.CannotDrain
		return ""
	case err != nil:
		return ""
	}
	address, listed := "", false
	for _, o := range all {
		if o.ID == own.ID {
			address, listed = o.Address, true
		}
	}
	if !listed {
		return "TiCDC does not list its capture"
	}
	own.Drains, own.Owner = state.CanDrain, false
	for _, o := range all {
		if o.Owner {
			own.Leads, own.Owner = o.ID, o.ID == own.ID
		}
		// One at the same address was there before the process was started again.
		if o.Address != address {
			own.Others++
		}
	}
	if own.Others > 0 {
		return ""
	}
	if n, err := client.Changefeeds(ctx); err == nil {
		own.Feeds = n
	} else if errors.Is(err, ticdc.ErrUnsupported) {
		own.Drains = state.CannotDrain
	}
	return ""
}

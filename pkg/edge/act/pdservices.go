package act

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

const (
	// primaryMoves is how long a move of the primary may take, which is until a new primary is elected.
	primaryMoves = 15 * time.Second
	// primaryAsked is how often PD is asked meanwhile.
	primaryAsked = 300 * time.Millisecond
)

// movePrimary asks the primary of a service of PD to let another member do the work, and waits until PD says so.
func (a *Actor) movePrimary(ctx context.Context, s step.MovePrimary) error {
	client, err := a.database()
	if err != nil {
		return err
	}
	now, err := a.readService(ctx, client, s)
	if err != nil {
		return err
	}
	object := "service " + string(s.Component)
	to := slices.IndexFunc(now.Members, func(m pd.ServiceMember) bool { return a.hosts(s.To, hostname(m.URL)) })
	switch {
	case a.hosts(s.To, hostname(now.Primary)):
		return nil
	case now.Primary == "":
		return stale(object, "has no primary")
	case !a.hosts(s.From, hostname(now.Primary)):
		return stale(object, "has another primary than %s, at %s", s.From, now.Primary)
	case to < 0 || now.Members[to].Name != s.ToName:
		return stale(object, "has no member %s any more", s.To)
	}
	_, ordinal, known := a.cluster.Member(s.From)
	if !known {
		return fmt.Errorf("move primary from %s: it is no member of the cluster", s.From)
	}
	if err := a.service(a.cluster, s.Component, ordinal).TransferPrimary(ctx, s.ToName); err != nil {
		return err
	}
	return a.primaryLeaves(ctx, client, s)
}

// primaryLeaves waits until PD names another primary.
func (a *Actor) primaryLeaves(ctx context.Context, client pd.Client, s step.MovePrimary) error {
	ctx, cancel := context.WithTimeout(ctx, primaryMoves)
	defer cancel()
	tick := time.NewTicker(primaryAsked)
	defer tick.Stop()
	for {
		now, err := a.readService(ctx, client, s)
		if err == nil && now.Primary != "" && !a.hosts(s.From, hostname(now.Primary)) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if err != nil {
				return err
			}
			return fmt.Errorf("move primary of %s to %s: PD names no other primary than %s within %s", s.Component, s.To, s.From, primaryMoves)
		}
	}
}

func (a *Actor) readService(ctx context.Context, client pd.Client, s step.MovePrimary) (*pd.Service, error) {
	now, err := client.Service(ctx, string(s.Component))
	if err != nil {
		return nil, fmt.Errorf("read service %s of PD: %w", s.Component, err)
	}
	return now, nil
}

// hostname returns the host of an URL, "" for a text that is none.
func hostname(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

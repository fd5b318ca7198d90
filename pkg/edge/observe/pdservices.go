package observe

import (
	"context"
	"errors"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// serviceAnswer is what PD says of one of its services, or why PD does not.
type serviceAnswer struct {
	service *pd.Service
	err     error
}

// PDService returns a client of the member of a service of PD in a pod.
func (o *Observer) PDService(c topology.Cluster, k topology.Kind, ordinal int) *pd.ServiceClient {
	return &pd.ServiceClient{HTTP: o.http, URL: c.MemberURL(k, ordinal, topology.PDClientPort), Service: string(k)}
}

// readServices reads which members of its services PD knows. Without an answer they are unknown, and the rest of what
// PD says counts all the same.
func (o *Observer) readServices(ctx context.Context, client pd.Client, c topology.Cluster, a *answers) {
	for _, k := range topology.Services() {
		if g, has := c.Group(k); !has || g.Replicas == 0 {
			continue // PD takes seconds to say that it knows none
		}
		if a.services == nil {
			a.services = map[topology.Kind]serviceAnswer{}
		}
		s, err := client.Service(ctx, string(k))
		a.services[k] = serviceAnswer{s, err}
	}
}

// sortServices notes which members of services PD knows.
func (a answers) sortServices(c topology.Cluster, d *database) {
	for k, got := range a.services {
		switch {
		case errors.Is(got.err, pd.ErrNotBootstrapped):
			d.unread(k, "PD lists no services before a store has joined")
			continue
		case got.err != nil:
			d.unread(k, "PD does not list its services: "+got.err.Error())
			continue
		}
		lead, led := owner(c, k, got.service.Primary)
		for _, m := range got.service.Members {
			n, ok := owner(c, k, m.URL)
			if last, had := d.listed[k][n]; !ok || had && last.start.After(m.Started) {
				continue
			}
			d.list(k, n, listed{start: m.Started, Database: state.Database{
				Presence: state.Present, Healthy: true, Name: m.Name, Version: m.Version, Primary: led && n == lead,
			}})
		}
	}
}

// unread notes why it is not known which members of a component PD knows.
func (d *database) unread(k topology.Kind, why string) {
	if d.servicesUnread == nil {
		d.servicesUnread = map[topology.Kind]string{}
	}
	d.servicesUnread[k] = why
}

// ofService reduces what a member of a service has registered to what is valid for the process in its pod now. PD knows
// a member for some seconds after its process has ended. The clock of one host gives the start of the process
// and of the container. The kubelet cuts its time to seconds.
func (s listed) ofService(pod *state.Pod) listed {
	if pod == nil || s.start.IsZero() || pod.Started.IsZero() {
		return s
	}
	if s.start.Add(pod.Behind).Before(pod.Started.Add(-time.Second)) {
		return listed{Database: state.Database{Presence: state.Absent, Problem: "has not registered in PD since it started"}}
	}
	return s
}

// askServices asks whether each member of a service listens. PD says whether a member serves, but knows one that has
// crashed for some seconds, and one that has never registered not at all.
func (o *Observer) askServices(ctx context.Context, c topology.Cluster, members []state.Member) {
	o.each(ctx, members, func(ctx context.Context, m *state.Member) {
		if !runs(m) {
			return
		}
		d := &m.Database
		switch is := answerOf(o.PDService(c, m.Kind, m.Ordinal).Listens(ctx)); {
		case is == state.Refused:
			d.Answer, d.Healthy, d.Problem = is, false, "port refuses connections"
		case is == state.NoAnswer || d.Healthy:
			d.Answer = is
		}
	})
}

package failover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// listing is the JSON form.
type listing struct {
	Namespace  string      `json:"namespace"`
	Cluster    string      `json:"cluster"`
	Components []capacity  `json:"components"`
	Members    []memberRow `json:"members"`
}

// capacity is how many failovers a component may have, and has.
type capacity struct {
	Component string `json:"component"`
	Up        int    `json:"up"`
	Wanted    int    `json:"wanted"`
	Failovers int    `json:"failovers"`
	Max       int    `json:"maxFailoverCount"`
}

type memberRow struct {
	Component string     `json:"component"`
	Member    string     `json:"member"`
	Trouble   string     `json:"trouble,omitempty"`
	Since     *time.Time `json:"since,omitempty"`
	Due       *time.Time `json:"due,omitempty"`
	Spared    string     `json:"spared,omitempty"`
	GivenUp   *time.Time `json:"givenUp,omitempty"`
	Discarded bool       `json:"discarded,omitempty"`
	Next      string     `json:"next"`
}

// show shows the members that are down. If the cluster cannot become what the TidbCluster asks for,
// it shows them as well, and then fails.
func show(ctx context.Context, f *factory.Factory, s *target.Session, o options, tc *v1alpha1.TidbCluster) error {
	c := topology.New(tc)
	shown := s.Spin(f)
	seen, err := s.Observer.Against(ctx, c)
	shown.Stop()
	if err != nil {
		return err
	}
	snap := seen.Snapshot
	w, refused := render.Want(seen)
	_, impossible := errors.AsType[*render.RefusedError](refused)
	switch {
	case impossible:
		w = target.Unrendered(c)
	case refused != nil:
		return refused
	}
	v := look(w, snap, o)
	if o.Output.JSON() {
		err = output.Write(f.Streams.Out, v)
	} else {
		err = v.print(f.Streams.Out, snap.At)
	}
	if err == nil && impossible {
		return refused
	}
	return err
}

func look(w desired.State, snap state.Snapshot, o options) listing {
	v := listing{Namespace: w.Cluster.Namespace, Cluster: w.Cluster.Name, Components: []capacity{}, Members: []memberRow{}}
	for _, g := range w.Groups {
		if o.concerns(g.Kind) {
			v.Components = append(v.Components, capacity{
				string(g.Kind), snap.Groups[g.Kind].Up(), g.Replicas, len(g.Failures), g.MaxFailures,
			})
		}
	}
	for _, c := range plan.LostMembers(component.Profiles(), plan.Policy{}, w, snap) {
		if !o.concerns(c.Member.Kind) {
			continue
		}
		row := memberRow{
			Component: string(c.Member.Kind), Member: c.Member.Name, Trouble: c.Trouble,
			Since: moment(c.Since), Due: moment(c.Due), Spared: c.Spared, Next: nextStep(c, snap.At),
		}
		if r := c.Record; r != nil {
			row.GivenUp, row.Discarded = moment(r.Created), r.Discarded
		}
		v.Members = append(v.Members, row)
	}
	return v
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// nextStep returns what happens next to a member.
func nextStep(c plan.LostMember, now time.Time) string {
	r := c.Record
	switch {
	case r != nil && c.Trouble == "":
		return "back; \"recover\" takes its replacement away"
	case r != nil && r.Discarded:
		return "given up with its data; it comes back empty"
	case r != nil && r.Deleted:
		return "given up and replaced"
	case r != nil:
		return "given up " + state.Age(now.Sub(r.Created)) + " ago"
	case c.Spared != "":
		return "kept: " + c.Spared
	case now.Before(c.Due):
		return "\"run\" gives it up in " + state.Age(c.Due.Sub(now))
	}
	return "\"run\" gives it up at once"
}

func (v listing) print(out io.Writer, now time.Time) error {
	var components, members [][]string
	for _, c := range v.Components {
		k, _ := topology.ParseKind(c.Component)
		components = append(components, []string{
			k.Title(), fmt.Sprintf("%d of %d", c.Up, c.Wanted), fmt.Sprintf("%d of at most %d", c.Failovers, c.Max),
		})
	}
	for _, m := range v.Members {
		down := ""
		if m.Since != nil {
			down = state.Age(now.Sub(*m.Since))
		}
		members = append(members, []string{m.Member, m.Trouble, down, m.Next})
	}
	if err := report.Table(out, []string{"component", "up", "failovers"}, components); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if len(members) == 0 {
		fmt.Fprintln(out, "No member is down.")
		return nil
	}
	return report.Table(out, []string{"member", "why not up", "for", "what becomes of it"}, members)
}

package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/explain"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// check asks of all clusters whether the request may be carried out, and changes nothing. A refusal of
// one cluster is an error.
func (r *run) check(ctx context.Context, databases [][]*cluster) error {
	n := 0
	for _, u := range databases {
		n += len(u)
	}
	shown := spin.On(r.f, "reading "+remedy.Count(n, "cluster", "clusters"))
	var each errgroup.Group
	each.SetLimit(r.o.parallel)
	for _, u := range databases {
		each.Go(func() error {
			for _, c := range u {
				c.err = r.checkOne(ctx, c)
			}
			return nil
		})
	}
	_ = each.Wait()
	shown.Stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	refuseUnconcerned(flat(databases))
	return r.refused(databases, n)
}

// NotConcernedError says that a request is about something that a cluster does not have. Other clusters may have it.
type NotConcernedError struct {
	Cluster *v1alpha1.TidbCluster
	Err     error
	// Fine: the request is no mistake, also where no cluster has anything to do.
	Fine bool
	// Follows: what is under way in the cluster goes on, as with "sync". The same command has begun it before.
	Follows bool
}

func (e *NotConcernedError) Error() string { return e.Err.Error() }
func (e *NotConcernedError) Unwrap() error { return e.Err }

// refuseUnconcerned refuses a request that is about none of the clusters.
func refuseUnconcerned(all []*cluster) {
	if slices.ContainsFunc(all, func(c *cluster) bool { return c.unconcerned == nil || !c.idle }) {
		return
	}
	for _, c := range all {
		if none, ok := errors.AsType[*NotConcernedError](c.unconcerned); !ok || !none.Fine {
			c.err = c.unconcerned
		}
	}
}

func (r *run) checkOne(ctx context.Context, c *cluster) error {
	quiet := genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}
	f := r.factory(c, quiet)
	s, err := target.Connect(f, c.Namespace, c.Name)
	if err != nil {
		return err
	}
	defer s.Close()
	req, p, err := r.foreseeOne(ctx, f, s, c)
	for c.holdLater(err) {
		req, p, err = r.foreseeOne(ctx, f, s, c)
	}
	if none, ok := errors.AsType[*NotConcernedError](err); ok {
		c.want, c.idle, c.unconcerned = none.Cluster, true, none
		return nil
	}
	if err != nil {
		return err
	}
	c.want, c.effects, c.verdict, c.action = req.Want, p.Effects(), drive.Verdict(p, r.tried(c)), req.Action
	if c.canary != "" {
		c.action += ", canary " + c.canary
	}
	// A promotion changes the annotation alone, also where nothing is left to restart.
	was, _ := topology.CanaryAsked(req.Now)
	is, _ := topology.CanaryAsked(req.Want)
	c.idle = p.Plan.Outcome == plan.Converged && equality.Semantic.DeepEqual(req.Now.Spec, req.Want.Spec) && was == is
	if r.d.DryRun != flags.NoDryRun {
		c.notes = p.Preview(f.Context()).Notes
	}
	return nil
}

// foreseeOne asks whether the request for one cluster may be carried out.
func (r *run) foreseeOne(ctx context.Context, f *factory.Factory, s *target.Session, c *cluster) (check.Request, check.Prospect, error) {
	req, err := r.request(ctx, f, s, c)
	if err != nil {
		return req, check.Prospect{}, err
	}
	p, err := drive.Foresee(ctx, f, s, r.tried(c), req)
	return req, p, err
}

// tried returns the flags with which a request is tried, so that nothing is changed.
func (r *run) tried(c *cluster) flags.Options {
	d := r.flags(c)
	if d.DryRun == flags.NoDryRun {
		d.DryRun = flags.ServerDryRun
	}
	return d
}

// refused returns an error with all reasons, and the exit code that counts most; nil where no cluster is refused. With
// -o json, and in reports, each refused cluster has its end.
func (r *run) refused(databases [][]*cluster, n int) error {
	var reasons []string
	code := exit.OK
	for _, u := range databases {
		for _, c := range u {
			if c.err == nil {
				continue
			}
			code = exit.Worse(exit.Of(c.err), code)
			reasons = append(reasons, c.title(r.f.Context())+": "+r.reason(c))
			r.end(c, c.err)
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return exit.With(code, fmt.Errorf("%q cannot begin in %d of %s, so no cluster was changed:\n  %s",
		r.v.Action, len(reasons), remedy.Count(n, "cluster", "clusters"), strings.Join(reasons, "\n  ")))
}

// reason returns the error of a cluster in one line, "" where there is nothing to say.
func (r *run) reason(c *cluster) string {
	if c.err == nil || c.err.Error() == "" {
		return ""
	}
	f := r.factory(c, r.f.Streams)
	return harmless.Line(remedy.Text(explain.Error(c.err), f.Context()))
}

// request returns what is asked for of one cluster as it is now.
func (r *run) request(ctx context.Context, f *factory.Factory, s *target.Session, c *cluster) (check.Request, error) {
	now, err := s.Load(ctx)
	if err != nil {
		return check.Request{}, err
	}
	if c.want != nil && c.want.UID != now.UID {
		return check.Request{}, exit.Refusef("cluster %s/%s was deleted and made again since you were asked", c.Namespace, c.Name)
	}
	req, err := r.v.Request(ctx, f, s, now)
	if none, ok := errors.AsType[*NotConcernedError](err); ok && none.Follows {
		c.unconcerned, c.canary = none, ""
		req, err = check.Request{Action: "sync", Change: intent.Change{Now: now, Want: now}}, nil
	}
	switch dry := r.d.DryRun != flags.NoDryRun; {
	case c.pd == nil:
	case c.pd.begun && !dry && !c.JoinsAcross(): // the part with PD has been written, and is read
	case c.pd.want == nil:
		return req, exit.Refusef("the part with PD, %s/%s, is refused itself", c.pd.Namespace, c.pd.Name)
	default:
		req.Beside = []*v1alpha1.TidbCluster{c.pd.want}
	}
	return req, err
}

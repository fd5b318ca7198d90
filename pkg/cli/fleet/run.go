package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"golang.org/x/sync/errgroup"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/contexts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Verb is what is done to each cluster.
type Verb struct {
	// Action is that in a user's words, e.g. "upgrade to v8.1.1".
	Action string
	// GoOn is the verb that goes on after a failure, "" where the same command does. A restart that is asked for again
	// would restart all members once more.
	GoOn string
	// Request returns what is asked for of one cluster.
	Request func(context.Context, *factory.Factory, *target.Session, *v1alpha1.TidbCluster) (check.Request, error)
}

// run is one command.
type run struct {
	f      *factory.Factory
	o      Options
	d      flags.Options
	v      Verb
	shared *contexts.Shared
	// each drives one cluster, and calls written when what is asked for is in the API server. The label names the wave, ""
	// where there is only one.
	each func(ctx context.Context, c *cluster, label string, written func()) error
	// end reports the end of a cluster that is not driven.
	end func(c *cluster, err error)
}

// Drive drives the clusters that the flags choose, or else the one cluster that the command names.
func Drive(ctx context.Context, f *factory.Factory, o Options, d flags.Options, name []string, v Verb) error {
	if o.Chosen() {
		return driveChosen(ctx, f, o, d, v)
	}
	s, now, err := target.Load(ctx, f, name)
	if err != nil {
		return err
	}
	defer s.Close()
	req, err := v.Request(ctx, f, s, now)
	if err != nil {
		return err
	}
	return drive.Run(ctx, f, s, d, req)
}

// driveChosen finds the clusters, checks all of them, asks the user, and drives them in waves.
func driveChosen(ctx context.Context, f *factory.Factory, o Options, d flags.Options, v Verb) error {
	if err := d.Reports.Begin(); err != nil {
		return err
	}
	ctx, cancel := exit.Within(ctx, d.Timeout)
	defer cancel()
	d.Timeout = 0 // it is that of all clusters together
	r := &run{f: f, o: o, d: d, v: v, shared: &contexts.Shared{Streams: f.Streams, Events: d.Output.JSON()}}
	r.each, r.end = r.drive, r.undriven
	err := exit.Ended(ctx, r.all(ctx))
	if failed := d.Reports.Write(); failed != nil {
		return exit.With(max(exit.Of(err), exit.Failure), errors.Join(err, failed))
	}
	return err
}

func (r *run) all(ctx context.Context) error {
	found, err := r.o.find(ctx, r.f)
	if err != nil {
		return err
	}
	databases, err := r.o.choose(r.f, units(found))
	if err != nil {
		return err
	}
	found = flat(databases)
	if asked, none := topology.ParseCanary(r.d.Canary); none == nil { // the parts of one database
		if err := shareCanary(found, asked); err != nil {
			return err
		}
	}
	if err := r.check(ctx, databases); err != nil {
		return err
	}
	waves, err := r.o.split(databases)
	if err != nil {
		return err
	}
	dry := r.d.DryRun != flags.NoDryRun
	if dry && !r.d.Output.JSON() {
		return r.foresee(waves, found)
	}
	if len(waves) > 0 && !dry {
		if err := r.consent(ctx, waves, found); err != nil {
			return err
		}
	}
	for _, c := range found {
		if c.idle {
			c.err = r.unneeded(c)
		}
	}
	r.carryOut(ctx, waves)
	return r.ended(ctx, found)
}

// carryOut drives the waves one after another, until a wave fails or the command is to end.
func (r *run) carryOut(ctx context.Context, waves [][][]*cluster) {
	for i, w := range waves {
		if ctx.Err() != nil || i > 0 && r.o.stop && r.failed(waves[i-1]) {
			return
		}
		r.wave(ctx, w, i+1, len(waves))
	}
}

// wave drives the databases of a wave side by side.
func (r *run) wave(ctx context.Context, w [][]*cluster, number, of int) {
	label := ""
	if of > 1 {
		label = fmt.Sprintf(", wave %d of %d", number, of)
	}
	if !r.d.Output.JSON() {
		fmt.Fprintf(r.f.Streams.ErrOut, "%s%s: %s\n", r.v.Action, label, strings.Join(r.titles(flat(w)), ", "))
	}
	var each errgroup.Group
	each.SetLimit(r.o.parallel)
	var failed atomic.Bool
	for _, u := range w {
		each.Go(func() error {
			r.database(ctx, u, label, &failed)
			return nil
		})
	}
	_ = each.Wait()
}

// database drives the parts of a database one after another, and parts that wait for each other at the same time.
func (r *run) database(ctx context.Context, parts []*cluster, label string, failed *atomic.Bool) {
	for _, mates := range drive.Mates(parts, r.waits) {
		if ctx.Err() != nil || r.o.stop && failed.Load() {
			return
		}
		errs := drive.Together(ctx, r.titles(mates), func(ctx context.Context, i int, written func()) error {
			if ctx.Err() != nil {
				return nil // it is not begun
			}
			mates[i].begun = true
			mates[i].err = r.each(ctx, mates[i], label, written)
			if mates[i].stopsAt(mates[i].err) {
				return nil // no part waits for the members that are held
			}
			return mates[i].err
		})
		for i, err := range errs {
			mates[i].err = cmp.Or(mates[i].err, err)
		}
		if r.failed([][]*cluster{mates}) {
			failed.Store(true)
			return // the next part needs these
		}
	}
}

// waits reports whether two parts have members of PD, and wait for each other's PD. A dry run waits for nothing.
func (r *run) waits(a, b *cluster) bool {
	return r.d.DryRun == flags.NoDryRun && a.SharesPD(b.Cluster)
}

// drive drives one cluster. An error is written at once, because others may take long.
func (r *run) drive(ctx context.Context, c *cluster, label string, written func()) error {
	f := r.factory(c, r.streams(c))
	s, err := target.Connect(f, c.Namespace, c.Name)
	if err != nil {
		return err
	}
	defer s.Close()
	req, err := r.request(ctx, f, s, c)
	if err == nil && !r.d.Yes {
		err = drive.Agreed(ctx, f, s, r.flags(c), req, c.effects)
	}
	if err != nil {
		drive.Refused(f, s, r.d, r.v.Action+label, err)
	} else {
		req.Action += label
		req.Written = written
		d := r.flags(c)
		d.Yes = true // the user has agreed
		err = drive.Run(ctx, f, s, d, req)
	}
	err = exit.Ended(ctx, err)
	if text := r.reason(&cluster{Cluster: c.Cluster, context: c.context, err: err}); text != "" && ctx.Err() == nil && !c.stopsAt(err) {
		fmt.Fprintln(f.Streams.ErrOut, "error: "+text)
	}
	return err
}

// flags returns the flags of the run of one cluster.
func (r *run) flags(c *cluster) flags.Options {
	d := r.d
	d.Canary = c.canary
	return d
}

// unneeded reports that nothing is to be done to a cluster: for people in one line, and also as events and in reports.
func (r *run) unneeded(c *cluster) error {
	streams := r.streams(c)
	short, long := "the cluster has converged", "the cluster is what was asked for, and has converged"
	if c.unconcerned != nil {
		short = c.unconcerned.Error()
		long = short
	}
	if !r.d.Output.JSON() {
		fmt.Fprintln(streams.ErrOut, "nothing to do: "+short)
		streams.ErrOut = io.Discard
	}
	f := r.factory(c, streams)
	s, err := target.Connect(f, c.Namespace, c.Name)
	if err != nil {
		return err
	}
	defer s.Close()
	return drive.Unneeded(f, s, r.d, r.v.Action, long)
}

// undriven reports the end of a cluster that is not driven: with -o json as an event, and in reports.
func (r *run) undriven(c *cluster, err error) {
	f := r.factory(c, r.streams(c))
	if s, unconnected := target.Connect(f, c.Namespace, c.Name); unconnected == nil {
		drive.Refused(f, s, r.d, r.v.Action, err)
		s.Close()
	}
}

// failed reports whether a cluster of a wave has not come to its end. A canary is an end. A dry run has no failures.
func (r *run) failed(w [][]*cluster) bool {
	for _, c := range flat(w) {
		if r.d.DryRun == flags.NoDryRun && (c.err != nil && !c.stopsAt(c.err) || !c.begun) {
			return true
		}
	}
	return false
}

// ended returns the error of the command. It names the clusters that failed, and those that were not begun. With -o json,
// and in reports, each cluster that was not begun has its end.
func (r *run) ended(ctx context.Context, found []*cluster) error {
	var failed, stopped []string
	var waiting []*cluster
	code, idle := exit.OK, 0
	for _, c := range found {
		code = exit.Worse(exit.Of(c.err), code)
		switch {
		case c.stopsAt(c.err):
			stopped = append(stopped, c.title(r.f.Context()))
		case c.err != nil:
			failed = append(failed, fmt.Sprintf("%s (exit code %d)", c.title(r.f.Context()), exit.Of(c.err)))
		case c.idle:
			idle++
		case !c.begun:
			waiting = append(waiting, c)
		}
	}
	if ctx.Err() != nil && len(failed)+len(waiting) > 0 {
		code = exit.Worse(exit.Of(context.Cause(ctx)), code)
	}
	switch {
	case r.d.DryRun != flags.NoDryRun:
		return exit.With(code, nil)
	case len(stopped) > 0 && len(failed)+len(waiting) == 0:
		return exit.With(code, remedy.For(fmt.Errorf("the canary waits to be promoted in %s", strings.Join(stopped, ", ")), r.promotion()))
	case code == exit.OK, len(failed)+len(waiting) == 0: // a command that is interrupted at its end is done
		if !r.d.Output.JSON() {
			fmt.Fprintf(r.f.Streams.ErrOut, "%s: done with %s, of which %d had nothing to do\n", r.v.Action, remedy.Count(len(found), "cluster", "clusters"), idle)
		}
		return nil
	}
	var parts []string
	because := "the command has ended"
	if len(failed) > 0 {
		because = "of failures: " + strings.Join(failed, ", ")
		parts = append(parts, fmt.Sprintf("%d of %s failed: %s", len(failed), remedy.Count(len(found), "cluster", "clusters"), strings.Join(failed, ", ")))
	}
	if len(stopped) > 0 {
		parts = append(parts, "the canary waits to be promoted in "+strings.Join(stopped, ", "))
	}
	if len(waiting) > 0 {
		parts = append(parts, remedy.Count(len(waiting), "was not begun: ", "were not begun: ")+strings.Join(r.titles(waiting), ", "))
	}
	for _, c := range waiting {
		r.end(c, exit.With(code, errors.New("not begun, because "+because)))
	}
	return exit.With(code, remedy.For(errors.New(strings.Join(parts, "; ")), r.goOn(found)...))
}

// goOn returns how what was begun goes on, and how the other clusters begin. Where the same command would do more than
// that, each part that was begun has a command. In the other parts that command would do what the user wanted to stop.
func (r *run) goOn(found []*cluster) (help remedy.Remedy) {
	const when = "go on, when the cause is gone"
	waits := slices.ContainsFunc(found, func(c *cluster) bool { return !c.begun && !c.idle })
	switch {
	case r.v.GoOn == "":
		return remedy.Remedy{remedy.Run(when, r.f.Again(r.namespace()))}
	case !waits:
		return remedy.Remedy{remedy.Run(when, remedy.Plugin(*r.f.Flags.Namespace, r.v.GoOn, r.o.Name, "--contexts", r.o.contexts.String()))}
	}
	for _, c := range found {
		switch {
		case c.begun && c.err != nil:
			help = append(help, remedy.Run(when, remedy.Plugin(c.Namespace, r.v.GoOn, c.Name, "--context", c.context)))
		case !c.begun && !c.idle && c.canary != "":
			help = append(help, remedy.Say("then give the same command with --context "+c.context+" and --canary "+c.canary))
		case !c.begun && !c.idle:
			help = append(help, remedy.Say("then give the same command with --context "+c.context))
		}
	}
	return help
}

// namespace returns the namespace that another shell has to be told, "" where the command line says which.
func (r *run) namespace() string {
	if r.o.AllNamespaces || r.o.contexts.Given() {
		return ""
	}
	namespace, _ := r.f.Namespace() // it was read before
	return namespace
}

// factory returns a factory for one cluster.
func (r *run) factory(c *cluster, streams genericiooptions.IOStreams) *factory.Factory {
	if c.context == "" {
		return r.f.Beside(streams)
	}
	return r.f.In(c.context, streams)
}

// streams returns streams whose lines begin with the name of the cluster.
func (r *run) streams(c *cluster) genericiooptions.IOStreams {
	return r.shared.For(c.title(r.f.Context()))
}

func (r *run) titles(all []*cluster) []string {
	var names []string
	for _, c := range all {
		names = append(names, c.title(r.f.Context()))
	}
	return names
}

// flat returns the clusters of a wave.
func flat(w [][]*cluster) []*cluster {
	var all []*cluster
	for _, u := range w {
		all = append(all, u...)
	}
	return all
}

package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/contexts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// several applies several TidbClusters. Nothing is written of any before all were checked. Then each is driven to its
// end before the next.
func (o options) several(ctx context.Context, f *factory.Factory, all []*intent.Manifest, others []intent.Other) error {
	if err := o.Reports.Begin(); err != nil {
		return err
	}
	ctx, cancel := exit.Within(ctx, o.Timeout)
	defer cancel()
	o.Timeout = 0 // the time is for all runs together
	var inputs []input
	defer func() {
		for _, i := range inputs {
			i.Close()
		}
	}()
	for _, m := range all {
		s, r, err := o.open(ctx, f, m, others)
		if err != nil {
			return exit.Ended(ctx, err)
		}
		inputs, others = append(inputs, input{Session: s, manifest: m, request: r}), nil // the others are named once
	}
	inputs = inOrder(inputs)
	if o.DryRun == flags.NoDryRun {
		if err := o.checkAll(ctx, f, inputs); err != nil {
			return err
		}
	}
	return o.driveAll(ctx, f, inputs)
}

// checkAll refuses all inputs where one is refused. Then it asks the user about each that needs consent.
func (o options) checkAll(ctx context.Context, f *factory.Factory, inputs []input) error {
	unasked := o
	unasked.Yes = true
	errs := unasked.check(ctx, f, inputs)
	if exit.Worst(errs) == nil && !o.Yes {
		errs = o.check(ctx, f, inputs)
	}
	worst := exit.Worst(errs)
	if worst == nil {
		return nil
	}
	for n, i := range inputs {
		if errs[n] == nil {
			errs[n] = exit.With(exit.Of(worst), fmt.Errorf("%s: nothing was changed, because not all TidbClusters of %s can be applied", i.title(), o))
		}
		errs[n] = drive.NotBegun(f, i.Session, o.Options, i.request.Action, errs[n])
	}
	return exit.Worst(errs)
}

// check returns what is wrong with each input. Where the user is asked, the first answer that is no ends the questions.
func (o options) check(ctx context.Context, f *factory.Factory, inputs []input) []error {
	errs := make([]error, len(inputs))
	for n := range inputs {
		i := &inputs[n]
		p, err := check.Ask(ctx, f, i.Session, o.Options, i.requestAmong(inputs).WithFlags(o.Options))
		if err == nil {
			i.effects = p.Effects()
		}
		if errs[n] = exit.Ended(ctx, err); err != nil && !o.Yes {
			break
		}
	}
	return errs
}

// driveAll writes and drives one input after another, and parts that wait for each other's PD at the same time. Where a
// run does not end well, the inputs that come after that one are not changed.
func (o options) driveAll(ctx context.Context, f *factory.Factory, inputs []input) error {
	var failed []input
	var codes []exit.Code // of those
	var errs []error
	begin := func(ctx context.Context, f *factory.Factory, i *input, written func()) error {
		if at := slices.IndexFunc(failed, i.comesAfter); at >= 0 {
			return drive.NotBegun(f, i.Session, o.Options, i.request.Action, i.waits(failed[at], codes[at], o.Files))
		}
		return o.driveOne(ctx, f, i, inputs, written)
	}
	parts := make([]*input, len(inputs))
	for n := range inputs {
		parts[n] = &inputs[n]
	}
	for _, mates := range drive.Mates(parts, o.waitFor) {
		ended := o.driveMates(ctx, f, mates, begin)
		for n, err := range ended {
			if err != nil && exit.Of(err) != exit.Pending && o.DryRun == flags.NoDryRun {
				failed, codes = append(failed, *mates[n]), append(codes, exit.Of(err))
			}
		}
		errs = append(errs, ended...)
	}
	return exit.Worst(errs)
}

// driveMates drives the inputs of a group, and returns the error of each. Several inputs share the screen, so that each
// line begins with the name of its TidbCluster.
func (o options) driveMates(ctx context.Context, f *factory.Factory, mates []*input, begin func(context.Context, *factory.Factory, *input, func()) error) []error {
	if len(mates) == 1 {
		return []error{begin(ctx, f, mates[0], nil)}
	}
	shared := contexts.Shared{Streams: f.Streams, Events: o.Output.JSON()}
	var titles []string
	for _, i := range mates {
		titles = append(titles, i.Namespace+"/"+i.Name)
	}
	return drive.Together(ctx, titles, func(ctx context.Context, n int, written func()) error {
		return begin(ctx, f.Beside(shared.For(titles[n])), mates[n], written)
	})
}

// driveOne drives one input. The request is made again, because the runs before took time.
func (o options) driveOne(ctx context.Context, f *factory.Factory, i *input, inputs []input, written func()) error {
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		return drive.NotBegun(f, i.Session, o.Options, i.request.Action, exit.With(exit.Of(cause), fmt.Errorf("%s was left as it is: %w", i.title(), cause)))
	}
	warnings := i.request.Warnings
	r, err := o.request(ctx, f, i.Session, i.manifest, nil)
	if err != nil {
		return drive.NotBegun(f, i.Session, o.Options, i.request.Action, exit.Ended(ctx, err))
	}
	r.Warnings, r.Written, i.request = warnings, written, r
	among := i.requestAmong(inputs)
	if !o.Yes && o.DryRun == flags.NoDryRun {
		if err := drive.Agreed(ctx, f, i.Session, o.Options, among, i.effects); err != nil {
			return drive.NotBegun(f, i.Session, o.Options, i.request.Action, exit.Ended(ctx, err))
		}
		o.Yes = true // the user was asked
	}
	return drive.Run(ctx, f, i.Session, o.Options, among)
}

// waits is the error of an input that was not begun, because another one has not ended well. It has the exit code of that
// one, which says what is to be done first.
func (i input) waits(other input, code exit.Code, files Files) error {
	c := topology.New(i.asked())
	again := remedy.Say("when that one has converged, run the command again with the name " + c.Name)
	if files.repeatable() {
		again = remedy.Run("apply it alone, when that one has converged", remedy.Plugin(c.Namespace, append([]string{"apply", c.Name}, files.flags()...)...))
	}
	return remedy.For(exit.With(code, fmt.Errorf("%s was left as it is: it comes after %s", i.title(), other.title())), again)
}

package config

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/explain"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// validateAtOnce refuses flags that have no effect on a change of what members keep themselves.
func (o *setting) validateAtOnce() error {
	if !o.keptByMembers() {
		return nil
	}
	return o.ValidateAtOnce(fmt.Sprintf("what %s keeps itself is changed at once and without a run", o.kind.Title()))
}

// change is a setting that members keep themselves, as it is and as it is to be.
type change struct {
	key      string
	from, to any
}

// changes returns the settings that are not as they are to be.
func (o *setting) changes(is map[string]any) []change {
	var all []change
	for _, key := range slices.Sorted(maps.Keys(o.settings)) {
		to := o.settings[key]
		if now, there := is[key]; there && topology.SameSetting(to, now) {
			continue
		}
		if list, ok := to.([]any); ok {
			words := make([]string, len(list))
			for i := range list {
				words[i] = fmt.Sprint(list[i])
			}
			to = strings.Join(words, ",") // PD takes lists as one text
		}
		all = append(all, change{key, is[key], to})
	}
	return all
}

// setThere changes what members keep themselves, as far as it is not so already.
func (o *setting) setThere(ctx context.Context, f *factory.Factory, s session, host string, is map[string]any) error {
	begun := time.Now()
	ctx, cancel := exit.Within(ctx, o.Timeout)
	defer cancel()
	all := o.changes(is)
	var err error
	switch {
	case len(all) == 0:
	case o.DryRun == flags.NoDryRun:
		send := map[string]any{}
		for _, c := range all {
			send[c.key] = c.to
		}
		err = exit.Ended(ctx, s.members.Change(ctx, o.kind, host, send))
	case o.ExitCode:
		err = exit.With(exit.Pending, nil)
	}
	if o.Output.JSON() {
		return o.events(f, s, all, time.Since(begun), err)
	}
	if err == nil || exit.Of(err) == exit.Pending {
		for _, line := range o.told(all) {
			fmt.Fprintln(f.Streams.Out, line)
		}
	}
	return err
}

// told says what was changed, or would be, in a line each.
func (o *setting) told(all []change) []string {
	if len(all) == 0 {
		return []string{o.kind.Title() + " has these settings already; nothing was changed"}
	}
	done := "changed in " + o.kind.Title() + ", and in effect"
	if o.DryRun != flags.NoDryRun {
		done = "would be changed in " + o.kind.Title() + ", at once and without a restart"
	}
	var lines []string
	for _, c := range all {
		lines = append(lines, fmt.Sprintf("%s from %s to %s: %s", c.key, toJSON(c.from), toJSON(c.to), done))
	}
	return lines
}

// events writes the result as events, as a run does.
func (o *setting) events(f *factory.Factory, s session, all []change, took time.Duration, err error) error {
	action := "set " + strings.Join(o.given, " ") + " of " + o.kind.Title()
	printer := s.Printer(f, o.Output, action)
	defer printer.Close()
	progress := s.Progress(f, action, printer)
	if err == nil || exit.Of(err) == exit.Pending {
		for _, line := range o.told(all) {
			progress.Notice(event.SettingChanged, line)
		}
	}
	outcome := drive.Outcome(err)
	if len(all) > 0 && err == nil && o.DryRun != flags.NoDryRun {
		outcome = event.OutcomeChanges
	}
	progress.Done(outcome, int(exit.Of(err)), took, explain.Error(err))
	return drive.Said(err)
}

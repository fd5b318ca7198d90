package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/preview"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// asksCanary returns the component of a canary that the request asks for, and that was not asked for
// before.
func (p proposal) asksCanary() (topology.Canary, bool) {
	if p.existing != nil && p.existing.Canary == p.wanted.Canary {
		return topology.Canary{}, false
	}
	c, err := topology.ParseCanary(p.wanted.Canary)
	return c, err == nil
}

// HoldsNothingError says that no member of the component of a canary has to be restarted.
type HoldsNothingError struct{ text string }

func (e *HoldsNothingError) Error() string { return e.text }

// holdsNothing refuses a canary of a component that has no member to restart. The next change, perhaps weeks later,
// would stop at that canary.
func (p proposal) holdsNothing(w desired.State, snap state.Snapshot) error {
	c, asks := p.asksCanary()
	g, has := w.Group(c.Kind)
	if !asks || !has || preview.Restarts(g, snap.Groups[c.Kind]) > 0 {
		return nil
	}
	var others []string
	for _, o := range w.Groups {
		if preview.Restarts(o, snap.Groups[o.Kind]) > 0 {
			others = append(others, string(o.Kind))
		}
	}
	instead := "nothing has to be restarted"
	if slices.Sort(others); len(others) > 0 {
		instead = "members are restarted of " + strings.Join(others, ", ")
	}
	return &HoldsNothingError{fmt.Sprintf("canary %s: no member of %s has to be restarted, so none would be held; %s", c, c.Kind.Title(), instead)}
}

// duringBatches refuses a canary of a component whose members restart in batches. A pod that is lost meanwhile comes back
// with the new template, also beyond the canary.
func (p proposal) duringBatches(w desired.State, snap state.Snapshot) error {
	c, asks := p.asksCanary()
	if !asks || !snap.Groups[c.Kind].Set.InBatches {
		return nil
	}
	return remedy.For(fmt.Errorf("canary %s: %s restarts in batches, and a pod that is lost meanwhile would not be held", c, c.Kind.Title()),
		remedy.Run("finish the batches before", w.Cluster.Plugin("sync")))
}

// obeyed refuses a canary while a tidb-operator drives the cluster: it knows of none, and would restart
// all members.
func (p proposal) obeyed(ctx context.Context, operators *lease.Operators, o flags.Options) error {
	c, asks := p.asksCanary()
	if !asks || o.TakeOver || p.existing == nil {
		return nil
	}
	t := lease.TargetOf(p.wanted)
	found, err := operators.Find(ctx, t)
	if err != nil {
		return err
	}
	op, drives := found.Driving(t)
	if !drives {
		return nil
	}
	return remedy.For(
		exit.Refusef("%s drives %s and would restart all members, since it does not know of canary %s; nothing was changed", op, target.Title(p.wanted), c),
		remedy.Say("stop it, or exclude the cluster by its -selector"))
}

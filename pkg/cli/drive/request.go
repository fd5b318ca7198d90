package drive

import (
	"context"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Request is what a verb wants.
type Request struct {
	// Action is what is done, in a user's words, e.g. "upgrade to v8.1.1".
	Action string
	// Now is the TidbCluster there is, nil when there is none; Want is the one
	// that there should be.
	Now, Want *v1alpha1.TidbCluster
	// Refusal is why the verb itself refuses, nil when it does not. Want may
	// then be nil.
	Refusal error
	// Write writes what is wanted; nil when it is written already. In a dry run
	// the API server only says whether it would take it.
	Write func(context.Context, intent.Write) error
	// Policy is what the run may do by itself.
	Policy plan.Policy
	// Blind: do it even when PD cannot be asked whether it is safe.
	Blind bool
}

// admit refuses what the two TidbClusters alone tell cannot or must not be done.
func (r Request) admit() error {
	if r.Refusal != nil {
		return r.Refusal
	}
	want := topology.New(r.Want)
	switch errs := topology.Validate(r.Want); {
	case want.Deleting:
		return exit.Refusef("%s is being deleted, so nothing was changed", title(want))
	case len(errs) > 0:
		return exit.Refusef("%s is not valid, so nothing was changed: %w", title(want), errs.ToAggregate())
	case want.Paused:
		return exit.With(exit.Paused, fmt.Errorf(`%s is paused, so nothing was changed; `+
			`go on with: kubectl patch tc %s -n %s --type merge -p '{"spec":{"paused":false}}'`,
			title(want), want.Name, want.Namespace))
	}
	if r.Now == nil {
		return nil
	}
	return upward(topology.New(r.Now), want)
}

// allow refuses what the state of the cluster tells must not be done.
func (r Request) allow(w plan.Wanted, snap state.Snapshot) error {
	if refusals := plan.Refusals(component.Profiles(), w, snap); len(refusals) > 0 {
		return exit.Refusef("%s, so nothing was changed", refusals[0])
	}
	return r.seeing(w.Cluster, snap)
}

// seeing refuses to change a cluster whose PD runs but does not answer: what is
// safe is for PD to say. Going on with what is wanted already needs no leave.
func (r Request) seeing(c topology.Cluster, snap state.Snapshot) error {
	if snap.PD.Known() || r.Now == nil || r.Now.Status.ClusterID == "" || r.Write == nil || r.Blind {
		return nil
	}
	return exit.Refusef("PD of %s cannot be asked whether this is safe (%s), so nothing was changed; "+
		"see what is wrong with: kubectl tidb status %s -n %s; if the change is what will cure it, give --force",
		title(c), snap.PD.Problem, c.Name, c.Namespace)
}

// upward refuses to take a component to a lower version: its data may have been
// written in a format that the lower version cannot read.
func upward(now, want topology.Cluster) error {
	for _, g := range want.Groups {
		old, ok := now.Group(g.Kind)
		if !ok || old.Version == g.Version {
			continue
		}
		down, err := topology.IsDowngrade(old.Version, g.Version)
		if err == nil && down {
			return exit.Refusef("%s of %s is %s and %s is lower, so nothing was changed: data may be in a format "+
				"that the lower version cannot read; restore a backup into a new cluster instead",
				g.Kind.Title(), title(want), old.Version, g.Version)
		}
	}
	return nil
}

func title(c topology.Cluster) string {
	return fmt.Sprintf("cluster %s/%s", c.Namespace, c.Name)
}

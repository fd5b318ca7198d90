package wait

import (
	"errors"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// Sight is what one look at a cluster has shown.
type Sight struct {
	Wanted   desired.State
	Snapshot state.Snapshot
	Plan     plan.Plan
}

// Outcome is that the plan of a cluster comes to something. A wait for another outcome than "converged" goes on
// until that outcome comes, also in a cluster that is being deleted.
func Outcome(name string) Goal {
	lacks := func(s Sight) (topology.Kind, string) {
		if s.Plan.Outcome.String() != name {
			return "", s.Plan.Outcome.String()
		}
		return "", ""
	}
	other := name != converged
	return Goal{text: name, endless: other, deleting: other, lacks: lacks}
}

// Ended reports whether a look ends a wait, and returns the error of that end. It is nil for a goal that is reached.
func (g Goal) Ended(s Sight) (over bool, end error) {
	if s.Wanted.Cluster.Deleting {
		return !g.deleting, exit.With(exit.Aborted, errors.New("the cluster is being deleted"))
	}
	if _, lacks := g.lacks(s); lacks == "" {
		return true, nil
	}
	if g.endless {
		return false, nil
	}
	end = drive.EndedBy(s.Plan)
	return end != nil, end
}

// Outages says how a wait goes on where the cluster could not be read.
type Outages struct {
	// Existed: the cluster was there when the wait began.
	Existed bool

	seen time.Time // when the cluster was read last
}

// Seen reports whether the cluster has been read.
func (o *Outages) Seen() bool { return !o.seen.IsZero() }

// Bearable reports whether a wait goes on although the cluster could not be read. The API server may be away for a
// while. The first look says at once what is wrong. A look without an error is noted.
func (o *Outages) Bearable(err error, now time.Time) bool {
	if err == nil {
		o.Existed, o.seen = true, now
		return false
	}
	return exit.Of(err) == exit.Failure && o.Seen() && now.Sub(o.seen) < drive.Outage
}

// Lost returns the error of a wait that ends because the cluster could not be read.
func (o *Outages) Lost(err error) error {
	if intent.Gone(err) && o.Existed {
		return exit.With(exit.Aborted, errors.New("the TidbCluster was deleted"))
	}
	return err
}

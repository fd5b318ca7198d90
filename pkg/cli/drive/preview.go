package drive

import (
	"fmt"
	"io"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/preview"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/forecast"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// prospect is a request, compared with the cluster as it is.
type prospect struct {
	request  proposal
	wanted   desired.State
	snapshot state.Snapshot
	plan     plan.Plan
	// differences are what changes in the pods of components.
	differences []render.Difference
	// warnings are no reason to refuse.
	warnings []warning
}

// preview returns what would be done.
func (p prospect) preview(context string) preview.Preview {
	var notes []string
	for _, w := range p.warnings {
		notes = append(notes, w.line(context))
	}
	if p.request.ends.Recorded {
		notes = append(notes, fmt.Sprintf("%s; that time is over, and the pause would end", p.request.ends))
	}
	return preview.Preview{
		Context: context, Action: p.request.Action, Now: p.request.now, Wanted: p.wanted, Seen: p.snapshot, Notes: notes,
		Differences: p.differences,
		Forecast:    forecast.Of(component.Profiles(), p.request.Policy, p.wanted, p.snapshot),
	}
}

// print prints what would be done.
func (p prospect) print(out io.Writer, context string) {
	p.preview(context).Print(out, report.Width(out))
}

// verdict returns the error with which a dry run ends.
func (p prospect) verdict(o flags.Options) error {
	switch {
	case p.plan.Outcome == plan.Converged:
		return nil
	case p.plan.Outcome == plan.Paused:
		return exit.With(exit.Paused, remedy.For(fmt.Errorf("%s is %s", title(p.wanted.Cluster), p.plan.Pause), unpause(p.wanted.Cluster)))
	case slices.Contains([]plan.Outcome{plan.Blocked, plan.Canary}, p.plan.Outcome):
		return conclude(p.plan, nil)
	case o.ExitCode:
		return exit.With(exit.Pending, nil)
	}
	return nil
}

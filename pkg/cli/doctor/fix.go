package doctor

import (
	"context"
	"errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/consent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// mended is a step of --fix, and what became of it.
type mended struct {
	step string
	err  error
}

// applyFixes takes the steps, when the user agrees. What is to be done is decided once
// more when this process drives the cluster: a run may have begun meanwhile, and have ended.
func (o *options) applyFixes(ctx context.Context, f *factory.Factory, s *target.Session, r *result) ([]mended, error) {
	if len(r.fixes) == 0 {
		return nil, nil
	}
	agreed := map[string]bool{}
	q := consent.Question{Namespace: s.Namespace, Name: s.Name, Doing: "fix cluster " + s.Namespace + "/" + s.Name}
	for _, next := range r.fixes {
		q.Effects, agreed[next.String()] = append(q.Effects, next.String()), true
	}
	if !o.yes {
		if err := consent.Ask(ctx, f, q); err != nil {
			return nil, err
		}
	}
	var all []mended
	err := drive.Alone(ctx, f, s, func(ctx context.Context, e reconcile.Engine) error {
		return e.Mend(ctx, func(w desired.State, snap state.Snapshot, p plan.Plan) []step.Step {
			l := finding.Look{Wanted: w, Snapshot: snap, Plan: p, Budgets: r.budgets}
			return agreedSteps(agreed, finding.Fixes(finding.Find(l)))
		}, func(next step.Step, err error) { all = append(all, mended{next.String(), err}) })
	})
	if len(all) > 0 && err != nil {
		err = exit.With(exit.Of(err), errors.New("not everything could be fixed; the result names the steps that failed"))
	}
	return all, err
}

// agreedSteps returns the steps that the user has agreed to.
func agreedSteps(agreed map[string]bool, steps []step.Step) []step.Step {
	var all []step.Step
	for _, s := range steps {
		if agreed[s.String()] {
			all = append(all, s)
		}
	}
	return all
}

package reconcile

import (
	"context"
	"errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// Mend takes the steps that choose returns for a live observation, and calls done with each. The steps are taken as
// in a run, under the cluster's lease, because what another driver has under way must not be taken back. After a
// step that fails the others are still taken.
func (e Engine) Mend(ctx context.Context, choose func(desired.State, state.Snapshot, plan.Plan) []step.Step, done func(step.Step, error)) error {
	t, err := e.decide(ctx, true)
	if err != nil {
		return err
	}
	var failed error
	for _, s := range choose(t.wanted, t.observed.Snapshot, t.plan) {
		err := e.do(ctx, s)
		done(s, err)
		failed = errors.Join(failed, err)
	}
	return failed
}

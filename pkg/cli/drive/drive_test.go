package drive

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// TestVerdict: a dry run ends with the exit code that a pipeline goes by.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		outcome plan.Outcome
		code    exit.Code // with --exit-code
	}{
		{plan.Converged, exit.OK}, {plan.Act, exit.Pending}, {plan.Wait, exit.Pending}, {plan.Paused, exit.Paused}, {plan.Blocked, exit.Refused},
	} {
		p := check.Prospect{Plan: plan.Plan{Outcome: c.outcome}}
		if got := exit.Of(Verdict(p, flags.Options{DryRun: flags.ServerDryRun, ExitCode: true})); got != c.code {
			t.Errorf("%s: exit code %d, want %d", c.outcome, got, c.code)
		}
		if got := exit.Of(Verdict(p, flags.Options{DryRun: flags.ServerDryRun})); got == exit.Pending {
			t.Errorf("%s: exit code %d without --exit-code", c.outcome, got)
		}
	}
}

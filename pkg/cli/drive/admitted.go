package drive

import (
	"context"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/admission"
)

// admitted refuses a change of which the API server says that it would not take the objects. It adds to the
// warnings what the API server does not take now, and what it could not be asked. A run that writes no intent makes the
// same objects as the one before it, and --dry-run=client only reads.
func (s *Session) admitted(ctx context.Context, o flags.Options, p *prospect) error {
	if p.request.Write == nil || o.DryRun == flags.ClientDryRun {
		return nil
	}
	answer := admission.Ask(ctx, s.Kube, p.wanted)
	if len(answer.Refused) > 0 {
		return refuse(p.request.want, "update rejected", answer.Refused)
	}
	for _, n := range answer.Notes {
		p.warnings = append(p.warnings, warning{text: n})
	}
	return nil
}

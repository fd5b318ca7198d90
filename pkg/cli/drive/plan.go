package drive

import (
	"context"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// Plan shows what Run would do, in the format of -o, and changes nothing.
func (s *Session) Plan(ctx context.Context, f *factory.Factory, o flags.Options, format output.Objects, r Request) error {
	o.DryRun, r.Policy.Eviction = flags.ServerDryRun, o.Eviction
	p, _, err := s.ask(ctx, f, o, propose(r).atTime(f.Clock.Now()))
	if err != nil {
		return err
	}
	p.warnings = append(p.warnings, p.foretold()...)
	p.warnings = append(p.warnings, s.logBackups(ctx, p)...)
	shown := p.preview(f.Context())
	if format.Table() {
		shown.Print(f.Streams.Out, report.Width(f.Streams.Out))
		return p.verdict(o)
	}
	object, err := shown.Object()
	if err == nil {
		err = format.Print(f.Streams.Out, object)
	}
	if err != nil {
		return err
	}
	return p.verdict(o)
}

// logBackups returns which log backups are paused or behind. A restart of stores does not make that better. What cannot
// be read is left out, and "doctor" says why.
func (s *Session) logBackups(ctx context.Context, p prospect) []warning {
	tasks, _ := s.Observer.LogBackups(ctx, p.snapshot)
	var notes []warning
	for _, f := range finding.LogBackups(tasks) {
		notes = append(notes, warning{text: f.Text, remedy: f.Remedy})
	}
	return notes
}

package drive

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// Unneeded ends a command that has nothing to do: its events and its reports say so, too.
func (s *Session) Unneeded(f *factory.Factory, o flags.Options, action, why string) error {
	if err := o.Reports.Begin(); err != nil {
		return err
	}
	printer := s.Printer(f, o.Output, action)
	defer printer.Close()
	reporters := reconcile.Reporters{o.Reports.In(f.Context()), printer}
	progress := reconcile.NewProgress(s.Namespace, s.Name, f.Clock.Now, reporters).In(f.Context()).For(action)
	progress.Notice(event.NothingToDo, why)
	progress.Done(event.OutcomeConverged, int(exit.OK), 0, nil)
	return reported(o, nil)
}

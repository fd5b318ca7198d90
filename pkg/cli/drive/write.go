package drive

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// write ends a pause whose time is over, and writes what the request wants. It returns the TidbCluster as the API
// server has it after the write. The TidbCluster is nil if nothing was written, or if the API server could not be read.
func write(ctx context.Context, s *target.Session, o flags.Options, r check.Request, p check.Prospect) (*v1alpha1.TidbCluster, error) {
	if p.Ends.Recorded && o.DryRun == flags.NoDryRun {
		if err := s.Intent.EndPause(ctx, r.Now); err != nil {
			return nil, err
		}
	}
	if r.Write == nil || o.DryRun == flags.ClientDryRun {
		return nil, nil
	}
	w := intent.Write{DryRun: o.DryRun == flags.ServerDryRun, Manager: o.FieldManager}
	if !r.Unrecorded {
		w.Action, w.At = r.Action, s.Now()
	}
	if err := r.Write(ctx, w); err != nil || o.DryRun == flags.ServerDryRun {
		return nil, err
	}
	asked, err := s.Load(ctx)
	if err != nil {
		return nil, nil // the run reports that error itself
	}
	return asked, nil
}

// fulfilled fails when a cluster has converged to something else than the request has asked for.
func fulfilled(ctx context.Context, s *target.Session, r check.Request, asked *v1alpha1.TidbCluster) error {
	if err := replaced(ctx, s, r.Now, asked); err != nil || r.Fulfilled == nil {
		return err
	}
	return r.Fulfilled(ctx)
}

// replaced returns an error if a user or a tool has changed a field again that this run has changed. The cluster has
// converged then, and not to what was asked for.
func replaced(ctx context.Context, s *target.Session, before, asked *v1alpha1.TidbCluster) error {
	if asked == nil {
		return nil
	}
	now, err := s.Load(ctx)
	switch {
	case intent.Gone(err) || err == nil && now.UID != asked.UID:
		return exit.With(exit.Aborted, errors.New("the TidbCluster was deleted during the run"))
	case err != nil:
		return nil // the cluster that has converged was just read
	}
	changed := check.Overwritten(before, asked, now)
	if len(changed) == 0 {
		return nil
	}
	return exit.With(exit.Aborted, fmt.Errorf("what this command asked for was changed by another user or tool: %s; run the command again to ask for it again",
		strings.Join(changed, "; ")))
}

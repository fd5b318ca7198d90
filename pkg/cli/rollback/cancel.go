package rollback

import (
	"context"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// CancelScale takes back a scale that is under way, as abort does, and refuses to take back anything
// else: a person who means a scale must not lose an upgrade.
func CancelScale(ctx context.Context, f *factory.Factory, with drive.Options, name []string) error {
	s, now, err := target.Load(ctx, f, name)
	if err != nil {
		return err
	}
	defer s.Close()
	under, err := s.Underway(ctx, now)
	switch {
	case err != nil:
		return err
	case len(under.Left) == 0:
		return s.Unneeded(f, with, "cancel of a scale", "no scale is under way, so nothing was changed")
	}
	c := topology.New(now)
	last, recorded := topology.LastChangeOf(now)
	if _, only := last.Replicas(); recorded && last.IsLast(now) && (!only || !under.Scales) {
		return remedy.For(
			exit.Refusef("what is under way in cluster %s/%s is no scale that a command has begun (%s), so nothing was changed; the last change is %s",
				now.Namespace, now.Name, strings.Join(under.Left, "; "), last),
			remedy.Run("take back the last change, whatever it is", c.Plugin("abort")))
	}
	o := options{Options: with}
	o.tell(f, now, under)
	return back(ctx, f, s, o, now, "cancel of ", remedy.Run("stop it for a while", c.Plugin("pause")))
}

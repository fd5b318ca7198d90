package remove

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

const (
	// leaveWithin bounds how long PD's members of a part may take to leave, with the move of PD's leader.
	leaveWithin = time.Minute
	// leaveAgain is after what time PD is asked again whether its leader has moved. An election takes a few seconds.
	leaveAgain = 500 * time.Millisecond
)

// leavePD removes PD's members of a part from PD before the TidbCluster is deleted. Otherwise PD would count members
// that never come back, and could lose its quorum with the next failure. Then it records that the part has left. A later
// deletion needs the record, because PD cannot be asked from here any more.
func (d *deletion) leavePD(ctx context.Context, f *factory.Factory) error {
	d.say(fmt.Sprintf("deleting %s: its members leave PD", target.Title(d.cluster)))
	ctx, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	err := drive.Alone(ctx, f, d.session, func(ctx context.Context, e reconcile.Engine) error {
		if had, err := d.takeTurn(ctx, e); err != nil || !had {
			return err
		}
		defer e.Parts.Release(context.WithoutCancel(ctx))
		if err := untilLeft(ctx, e); err != nil {
			return err
		}
		return d.session.Intent.RecordLeft(ctx, d.tc)
	})
	if err == nil {
		return nil
	}
	return exit.With(exit.Refused, remedy.For(
		fmt.Errorf("%s is not deleted: its members have not all left PD: %w", target.Title(d.cluster), err),
		remedy.Run("see which members PD lists", d.cluster.PDCtl(d.cluster.PodName(topology.PD, 0), "member")),
		remedy.Run("delete it, if another part says that PD lists none of them any more", d.cluster.Kubectl("annotate", "tidbcluster", d.cluster.Name, topology.AnnotationLeft+"=true")),
	))
}

// takeTurn takes the right to take members of the database away, which all parts share.
func (d *deletion) takeTurn(ctx context.Context, e reconcile.Engine) (bool, error) {
	if err := e.Mend(ctx, func(desired.State, state.Snapshot, plan.Plan) []step.Step { return nil }, func(step.Step, error) {}); err != nil {
		return false, err // PD was not found
	}
	err := wait.PollUntilContextCancel(ctx, leaveAgain, true, func(ctx context.Context) (bool, error) {
		_, err := e.Parts.Take(ctx)
		return e.Parts.Held(), err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return false, errors.New("another part takes members away")
	}
	return err == nil, err
}

// untilLeft has members leave until PD lists none of them.
func untilLeft(ctx context.Context, e reconcile.Engine) error {
	return wait.PollUntilContextCancel(ctx, leaveAgain, true, func(ctx context.Context) (bool, error) {
		var why string
		var next []step.Step
		err := e.Mend(ctx, func(_ desired.State, s state.Snapshot, _ plan.Plan) []step.Step {
			next, why = plan.Leave(s)
			return next
		}, func(step.Step, error) {})
		switch {
		case why != "":
			return false, errors.New(why)
		case err != nil:
			return false, err
		}
		return len(next) == 0 || removesAll(next), nil
	})
}

// removesAll reports whether no member is left after some steps. PD may not be asked again then, because no member of
// PD runs here that knows the others.
func removesAll(steps []step.Step) bool {
	for _, s := range steps {
		if _, removes := s.(step.RemoveMember); !removes {
			return false
		}
	}
	return true
}

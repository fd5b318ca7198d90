package reconcile

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// lost is a lease that is over.
type lost struct{}

func (lost) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(handsOff{})
	return ctx, func() {}
}

// TestMend: steps are chosen by a live look, and each is taken whatever became of the one before;
// none is taken without the lease.
func TestMend(t *testing.T) {
	all := func(w desired.State, s state.Snapshot, _ plan.Plan) []step.Step {
		steps, _ := plan.Undo(w, s)
		return steps
	}
	for _, c := range []struct {
		name  string
		lease Lease
		fail  bool
		log   []string
		err   error
		done  int
	}{
		{"mended", nil, false, []string{"look live", "allow region leaders on t-tikv-0", allow}, nil, 2},
		{"one fails", nil, true, []string{"look live", "allow region leaders on t-tikv-0", allow}, errBroken, 2},
		{"the lease is lost", lost{}, false, []string{"look live"}, handsOff{}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &fakes{turns: []fakeTurn{{c: rest().Evicting("t-tikv-0", time.Minute, 0).Evicting("t-tikv-2", time.Minute, 0)}}}
			if c.fail {
				s.fail = map[string][]error{"allow region leaders on t-tikv-0": {errBroken}}
			}
			e := s.engine()
			e.Lease = c.lease
			done := 0
			err := e.Mend(t.Context(), all, func(step.Step, error) { done++ })
			if !errors.Is(err, c.err) || !slices.Equal(s.log, c.log) || done != c.done {
				t.Errorf("%v, %q, %d done", err, s.log, done)
			}
		})
	}
	s := &fakes{turns: []fakeTurn{{err: errBroken}}}
	if err := s.engine().Mend(t.Context(), all, nil); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

package wait

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestOutage: a wait goes on while the API server is away for some minutes. It ends at once where
// the cluster was never seen, and where waiting does not help.
func TestOutage(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	away := errors.New("connection refused")
	l := Loop{Goal: Outcome("converged"), Outage: drive.Outage}
	bearable := func(err error, at time.Time) bool {
		l.Now = func() time.Time { return at }
		return l.bearable(err)
	}
	if bearable(away, now) {
		t.Error("waits for a server that was never there")
	}
	if bearable(nil, now) || !bearable(away, now.Add(4*time.Minute)) || bearable(away, now.Add(6*time.Minute)) {
		t.Error("an outage of four minutes has to be borne, and one of six not")
	}
	if bearable(apierrors.NewForbidden(schema.GroupResource{}, "", nil), now) {
		t.Error("waits though it is forbidden")
	}
	gone := &intent.NotFoundError{}
	if bearable(gone, now) || exit.Of(l.lost(gone)) != exit.Aborted || exit.Of(new(Loop).lost(gone)) != exit.Usage {
		t.Error("a cluster that was deleted is another case than a name that does not exist")
	}
	l.Outage = 0
	if bearable(nil, now) || bearable(away, now) {
		t.Error("without --for nothing is awaited")
	}
}

// TestLooksOnce: a look that has read no copy ends a wait, without another one.
func TestLooksOnce(t *testing.T) {
	looks, unseen := 0, true
	l := Loop{Goal: Outcome("converged"), Now: time.Now, Late: func() error { return errors.New("late") }}
	l.Look = func(context.Context, bool) (Sight, error) {
		looks++
		s := seen(plantest.New(3, 3, 2))
		s.Live = true
		return s, nil
	}
	l.Show = func(_ Sight, over bool) error { unseen = !over; return nil }
	if err := l.Run(t.Context()); err != nil || looks != 1 || unseen {
		t.Errorf("%v after %d looks", err, looks)
	}
}

// TestUnreadable: no wait goes on where the spec cannot be read, but that for a cluster that is blocked has come.
func TestUnreadable(t *testing.T) {
	broken := exit.Refusef("malformed")
	for goal, code := range map[string]exit.Code{"converged": exit.Refused, "blocked": exit.OK, "paused": exit.Refused, "canary": exit.Refused} {
		s := seen(plantest.New(3, 3, 2))
		s.Plan.Outcome, s.Unreadable = 0, broken
		for s.Plan.Outcome.String() != "blocked" {
			s.Plan.Outcome++
		}
		over, end := Outcome(goal).ended(s)
		if !over || exit.Of(end) != code {
			t.Errorf("%s: %t, %v", goal, over, end)
		}
		s.Wanted.Cluster.Deleting = true
		if over, end = Outcome(goal).ended(s); !over || goal != "converged" && !errors.Is(end, broken) {
			t.Errorf("%s, deleting: %t, %v", goal, over, end)
		}
	}
	if over, _ := Never().ended(seen(plantest.New(3, 3, 2))); over {
		t.Error("nothing is awaited, and it has come")
	}
}

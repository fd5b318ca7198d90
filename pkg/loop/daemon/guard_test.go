package daemon

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// A turn can have many steps, and a tidb-operator can come between two of them. Then the context of
// the next step has ended, with the operator as the cause: two drivers of one cluster could each
// restart a member. Where it is unknown who drives, no step begins either.
func TestGuardOfAStep(t *testing.T) {
	unknown := errors.New("leases cannot be read")
	for _, tc := range []struct {
		name, operator string
		err            error
		begins         bool
	}{
		{"no operator", "", nil, true},
		{"an operator has come", "tidb-controller-manager-1", nil, false},
		{"it is unknown whether there is one", "", unknown, false},
	} {
		life, end := context.WithCancel(t.Context())
		l := NewLoop(life, nil, time.Now)
		l.Cluster = topology.Cluster{Namespace: "db", Name: "basic"}
		l.Bid = lease.NewBid(fake.NewClientset(), l.Cluster, lease.Identity{User: "daemon", Host: "daemon-1", PID: 1})
		l.Operator = func(context.Context) (string, error) { return "", nil }
		l.OnTaken, l.BeforeRelease = func(*lease.Held) {}, nil
		if _, err := l.Own(life); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		l.Operator = func(context.Context) (string, error) { return tc.operator, tc.err }
		ctx, release := l.Guard(life)
		if begins := ctx.Err() == nil; begins != tc.begins {
			t.Errorf("%s: the step begins: %t, want %t", tc.name, begins, tc.begins)
		}
		taken, held := errors.AsType[*lease.HeldError](context.Cause(ctx))
		if want := tc.operator != ""; held != want || want && taken.Holder.Identity != tc.operator {
			t.Errorf("%s: the step ends for %v", tc.name, context.Cause(ctx))
		}
		if tc.err != nil && !errors.Is(context.Cause(ctx), tc.err) {
			t.Errorf("%s: the step ends for %v, want %v", tc.name, context.Cause(ctx), tc.err)
		}
		release()
		l.Release()
		end()
	}
}

// unseen is a cluster that cannot be observed.
type unseen struct{}

func (unseen) Observe(context.Context, bool) (state.Observation, error) {
	return state.Observation{}, errors.New("no API server")
}

// A lease that is taken only to take changes back is reported, and its end as well: Guard looks at it, and
// so do the numbers of the daemon.
func TestStopReportsItsLease(t *testing.T) {
	l := NewLoop(t.Context(), unseen{}, time.Now)
	l.Cluster = topology.Cluster{Namespace: "db", Name: "basic"}
	l.Bid = lease.NewBid(fake.NewClientset(), l.Cluster, lease.Identity{User: "daemon", Host: "daemon-1", PID: 1})
	var taken, released *lease.Held
	l.OnTaken, l.BeforeRelease = func(h *lease.Held) { taken = h }, func(h *lease.Held) { released = h }
	if err := l.Stop(t.Context()); err != nil || taken != nil {
		t.Errorf("nothing was begun, and it has taken %v: %v", taken, err)
	}
	l.markBusy(time.Now())
	_ = l.Stop(t.Context())
	if taken == nil || released != taken {
		t.Errorf("taken %p, released %p", taken, released)
	}
}

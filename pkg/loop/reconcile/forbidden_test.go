package reconcile

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// refused returns an answer 403 of the API server.
func refused(message string, retryAfter int32) error {
	return fmt.Errorf("create Service: %w", &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message,
		Details: &metav1.StatusDetails{RetryAfterSeconds: retryAfter},
	}})
}

// TestForbidden: whether a 403 ends a run depends on what it says, and not on where it occurs.
func TestForbidden(t *testing.T) {
	const user, step = `services is forbidden: User "ci" cannot create resource "services"`, "scale TiDB from 2 to 3"
	for _, tt := range []struct {
		name  string
		err   error
		final bool
	}{
		{"no permission", refused(user, 0), true},
		{"roles not loaded", refused(user+`: RBAC: role.rbac.authorization.k8s.io "driver" not found`, 0), false},
		{"worked before", refused(user, 1), false},
		{"quota not known yet", refused(`services "a" is forbidden: status unknown for quota: team`, 0), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seeing := &fakes{turns: []fakeTurn{{err: tt.err}, {c: rest()}}}
			if _, err := Run(context.Background(), seeing.engine(), seeing); (err != nil) != tt.final {
				t.Errorf("after an observation: %v", err)
			}
			acting := &fakes{turns: []fakeTurn{{c: out()}, {c: out()}, {c: rest()}}, fail: map[string][]error{step: {tt.err}}}
			p, err := Run(context.Background(), acting.engine(), acting)
			if (err != nil) != tt.final || !tt.final && p.Outcome != plan.Converged {
				t.Errorf("after a step: %s, %v", p.Outcome, err)
			}
			for _, e := range acting.events {
				if e.Type == event.Failed && e.Final != tt.final {
					t.Errorf("the event says final %v", e.Final)
				}
			}
		})
	}
}

// TestLastFailure: the failure after which a run gives up is not tried again, and its event says so.
func TestLastFailure(t *testing.T) {
	const step = "scale TiDB from 2 to 3"
	s := &fakes{turns: []fakeTurn{{c: out()}}, fail: map[string][]error{}}
	for range giveUp {
		s.fail[step] = append(s.fail[step], errBroken)
	}
	if _, err := Run(context.Background(), s.engine(), s); err == nil {
		t.Fatal("the run has not ended")
	}
	var finals []bool
	for _, e := range s.events {
		if e.Type == event.Failed {
			finals = append(finals, e.Final)
		}
	}
	for i, final := range finals {
		if final != (i == giveUp-1) {
			t.Errorf("failure %d of %d: final %v", i+1, len(finals), final)
		}
	}
}

package exit

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/act"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

func TestOf(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		err  error
		want Code
	}{
		{"none", nil, OK},
		{"any", broken, Failure},
		{"coded", With(Paused, broken), Paused},
		{"usage", Usagef("wrong"), Usage},
		{"refusal", Refusef("no"), Refused},
		{"no such cluster", &intent.NotFoundError{Err: apierrors.NewNotFound(pods, "x")}, Usage},
		{"definition missing", &intent.NoResourceError{}, Refused},
		{"a field of another manager", &intent.ConflictError{}, Refused},
		{"changed since", &intent.ChangedError{}, Refused},
		{"cannot become that", &render.RefusedError{}, Refused},
		{"an object of another owner", &act.Foreign{}, Refused},
		{"invalid to Kubernetes", apierrors.NewInvalid(schema.GroupKind{}, "x", nil), Refused},
		{"held", &lease.HeldError{}, Held},
		{"lost", fmt.Errorf("%w: it was deleted", lease.ErrLost), Held},
		{"forbidden", apierrors.NewForbidden(pods, "x", broken), Forbidden},
		{"over quota", apierrors.NewForbidden(pods, "x", errors.New("exceeded quota: team")), Refused},
		{"namespace ends", apierrors.NewForbidden(pods, "x", errors.New("namespace db because it is being terminated")), Refused},
		{"denied by a webhook", apierrors.NewForbidden(pods, "x", errors.New(`admission webhook "w" denied the request: no`)), Refused},
		{"quota not known yet", apierrors.NewForbidden(pods, "x", errors.New("status unknown for quota: team")), Failure},
		{"unauthorized", apierrors.NewUnauthorized("who are you"), Forbidden},
		{"forbidden to dial", &dial.ForwardError{Reason: dial.Forbidden}, Forbidden},
		{"unreachable pod", &dial.ForwardError{Reason: dial.Unreachable}, Failure},
		{"interrupted, and then more", errors.Join(ErrInterrupted, broken), Interrupted},
		{"a plain end", context.Canceled, Failure},
	} {
		if got := Of(c.err); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
		if wrapped := fmt.Errorf("read pods: %w", c.err); c.err != nil && Of(wrapped) != c.want {
			t.Errorf("%s, wrapped: %d, want %d", c.name, Of(wrapped), c.want)
		}
	}
}

func TestEnded(t *testing.T) {
	live := context.Background()
	interrupted, cancel := context.WithCancelCause(live)
	cancel(ErrInterrupted)
	plain, cancelPlain := context.WithCancel(live)
	cancelPlain()
	broken, refusal := errors.New("broken"), Refusef("no")
	for _, c := range []struct {
		name      string
		ctx       context.Context
		err, want error
	}{
		{"no error", interrupted, nil, nil},
		{"not ended", live, broken, broken},
		{"interrupted", interrupted, context.Canceled, ErrInterrupted},
		{"interrupted after it was refused", interrupted, refusal, refusal},
		{"ended for a reason of its own", plain, broken, broken},
	} {
		if got := Ended(c.ctx, c.err); got != c.want { //nolint:errorlint // that very one
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

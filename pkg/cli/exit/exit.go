// Package exit holds the exit codes, which are a contract with scripts (docs/exit-codes.md). It has the one mapping
// from errors to exit codes.
package exit

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/act"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// Code is a process's exit code.
type Code int

// The exit codes.
const (
	OK          Code = 0
	Failure     Code = 1
	Usage       Code = 2
	Refused     Code = 3 // refused or blocked: manual action required
	TimedOut    Code = 4 // still progressing
	Paused      Code = 6
	Aborted     Code = 7 // aborted or rolled back
	Held        Code = 8 // another driver holds the cluster
	Forbidden   Code = 9
	Pending     Code = 10 // --dry-run --exit-code: changes pending; doctor: something is to be mended
	Interrupted Code = 130
)

// Error is an error with the exit code it leads to. An Error without a message was reported
// already.
type Error struct {
	Code Code
	Err  error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// With gives an error a code.
func With(c Code, err error) error { return &Error{Code: c, Err: err} }

// Usagef returns an error in how the command was called.
func Usagef(format string, args ...any) error {
	return With(Usage, fmt.Errorf(format, args...))
}

// Refusef returns a refusal: nothing was changed.
func Refusef(format string, args ...any) error {
	return With(Refused, fmt.Errorf(format, args...))
}

// Why the context of a command ends: the user wants it to stop, or --timeout is
// over.
var (
	ErrInterrupted = With(Interrupted, errors.New("interrupted"))
	ErrTimedOut    = With(TimedOut, errors.New("timed out; the same command goes on where this one stopped"))
)

// Within bounds a command by --timeout; zero or less is no limit.
func Within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, ErrTimedOut)
}

// Ended replaces an error by the reason why ctx has ended, if there is one. Every call fails then, each with a text
// that does not help the user.
func Ended(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if _, coded := errors.AsType[*Error](cause); err == nil || !coded {
		return err
	}
	if _, coded := errors.AsType[*Error](err); coded {
		return err
	}
	return cause
}

// Of returns the code for an error.
func Of(err error) Code {
	if err == nil {
		return OK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	switch {
	case is[*intent.NotFoundError](err):
		return Usage
	case is[*intent.OtherError](err):
		return Refused
	case forbidden(err):
		return Forbidden
	case refused(err):
		return Refused
	case is[*lease.HeldError](err), errors.Is(err, lease.ErrLost):
		return Held
	}
	return Failure
}

// forbidden reports whether Kubernetes does not permit it, whichever call returned that.
func forbidden(err error) bool {
	return denial.Of(err).Permission() || apierrors.IsUnauthorized(err) || errors.Is(err, dial.Forbidden)
}

// refused reports whether another attempt gives the same answer until a person changes something.
func refused(err error) bool {
	return is[*intent.NoResourceError](err) || is[*intent.ConflictError](err) || is[*intent.ChangedError](err) || is[*intent.MalformedError](err) ||
		is[*intent.NoComponentError](err) ||
		is[*render.RefusedError](err) || is[*act.Foreign](err) || apierrors.IsInvalid(err) || denial.Of(err).Refused()
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

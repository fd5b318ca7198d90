package remedy

import (
	"errors"
	"strings"
)

// Error is an error with what a person can do about it.
type Error struct {
	Err    error
	Remedy Remedy
}

// For returns an error with what a person can do about it, and the error itself where
// there is nothing. What errors.Is and errors.As find in it stays.
func For(err error, actions ...Action) error {
	if len(actions) == 0 {
		return err
	}
	return &Error{Err: err, Remedy: actions}
}

// Of returns what a person can do about an error, as far as the error says.
func Of(err error) Remedy {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Remedy
	}
	return nil
}

// Error returns the text for the current kubeconfig context. A caller that knows the context uses
// Text instead.
func (e *Error) Error() string { return e.textIn("") }

func (e *Error) Unwrap() error { return e.Err }

func (e *Error) textIn(context string) string {
	return strings.TrimPrefix(Text(e.Err, context)+"; "+e.Remedy.Line(context), "; ")
}

// Text returns the text of an error, with its commands for a kubeconfig context. The
// text of an error that wraps others contains theirs, in which the commands are.
func Text(err error, context string) string {
	if e, ok := err.(*Error); ok { //nolint:errorlint // this error alone; wrapped errors come in their turn
		return e.textIn(context)
	}
	var inner []error
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	}
	text, rest := "", err.Error()
	for _, i := range inner {
		if i == nil {
			continue
		}
		// Not again in what is replaced already: the same command may be there twice.
		if before, after, found := strings.Cut(rest, i.Error()); found {
			text, rest = text+before+Text(i, context), after
		}
	}
	return text + rest
}

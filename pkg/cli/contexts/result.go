package contexts

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/explain"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
)

// Result is what a command has read in one context. With an error there may be a value.
type Result[T any] struct {
	Context string // "" where the command is not for several contexts
	Value   T
	Err     error
	Shown   bool // the output has the error

	notes string // what the command has written beside its result, such as that there is none
}

// unread are the exit codes of errors that leave unknown what is in a context.
var unread = []exit.Code{exit.Interrupted, exit.Failure, exit.Forbidden, exit.TimedOut}

// Unknown reports whether something in the context could not be read.
func (r Result[T]) Unknown() bool { return slices.Contains(unread, exit.Of(r.Err)) }

// Reason returns the error in one line, "" where there is nothing to say. What can be done about a context that could
// not be read is left out: several contexts would say the same.
func (r Result[T]) Reason() string {
	if r.Err == nil || r.Err.Error() == "" {
		return ""
	}
	err := explain.Error(r.Err)
	if e, is := err.(*remedy.Error); is && r.Unknown() { //nolint:errorlint // only what is said at the end
		err = e.Err
	}
	return harmless.Line(remedy.Text(err, r.Context))
}

// Ended returns the error of a command that has read contexts. It names the contexts in which not all was read.
func Ended[T any](all []Result[T]) error {
	if len(all) == 1 && all[0].Context == "" {
		return all[0].Err
	}
	var unknown []string
	for _, r := range all {
		if r.Unknown() {
			unknown = append(unknown, r.Context)
		}
	}
	if len(unknown) == 0 {
		return joined(all)
	}
	return joined(all, fmt.Sprintf("not everything could be read in %d of %s: %s",
		len(unknown), remedy.Count(len(all), "context", "contexts"), strings.Join(unknown, ", ")))
}

// joined returns one error with all reasons that the output does not have, and the exit code of the worst context. It
// is nil where no context has an error.
func joined[T any](all []Result[T], more ...string) error {
	code := exit.OK
	var lines []string
	for _, r := range all {
		code = exit.Worse(exit.Of(r.Err), code)
		if reason := r.Reason(); reason != "" && !r.Shown {
			lines = append(lines, "context "+r.Context+": "+reason)
		}
	}
	if code == exit.OK {
		return nil
	}
	return exit.With(code, errors.New(strings.Join(append(lines, more...), "\n")))
}

// Notes writes what commands have written beside their results.
func Notes[T any](out io.Writer, all []Result[T]) {
	for _, r := range all {
		for line := range strings.Lines(r.notes) {
			fmt.Fprintf(out, "context %s: %s\n", r.Context, strings.TrimSuffix(line, "\n"))
		}
	}
}

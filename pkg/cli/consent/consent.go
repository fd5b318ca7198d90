// Package consent asks the user before something is done that takes a service or data away.
package consent

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// Question is what the user has to agree to.
type Question struct {
	// Namespace and Name are the names of the cluster.
	Namespace, Name string
	// Doing is what is about to be done, e.g. "upgrade to v8.1.1 of cluster db/basic".
	Doing string
	// Effects are what it takes away, a sentence each.
	Effects []string
}

// Ask asks the user to type the cluster's name, so that nothing is confirmed by mistake. Without a
// terminal it does not wait, and says which command needs no answer.
func Ask(ctx context.Context, f *factory.Factory, q Question) error {
	if !f.CanAsk() {
		return q.noTerminal(f)
	}
	where := ""
	if c := f.Context(); c != "" {
		where = " in context " + c
	}
	fmt.Fprintf(f.Streams.ErrOut, "About to %s%s:\n  %s\nType the cluster's name to go on: ", q.Doing, where, strings.Join(q.Effects, "\n  "))
	line, err := f.Input(ctx, oneLine)
	answer := strings.TrimSpace(string(line))
	switch {
	case answer == q.Name && answer != "":
		return nil
	case ctx.Err() != nil:
		fmt.Fprintln(f.Streams.ErrOut)
		return err
	case err != nil && answer == "":
		fmt.Fprintln(f.Streams.ErrOut)
		return q.noTerminal(f)
	}
	return exit.Refusef("that is not the cluster's name, so nothing was changed")
}

// GoOn asks whether to go on with what the user has been shown. The default is "no". Nothing that is asked about
// here takes a service or data away.
func GoOn(ctx context.Context, f *factory.Factory) error {
	fmt.Fprint(f.Streams.ErrOut, "Go on? [y/N]: ")
	line, err := f.Input(ctx, oneLine)
	switch strings.ToLower(strings.TrimSpace(string(line))) {
	case "y", "yes":
		return nil
	}
	if err != nil {
		fmt.Fprintln(f.Streams.ErrOut)
	}
	if ctx.Err() != nil {
		return err
	}
	return exit.Refusef("you have not agreed, so nothing was changed; --yes does not ask")
}

// Whether asks a question whose default is "no", and reports whether the user agrees. An answer that cannot be read is
// none.
func Whether(ctx context.Context, f *factory.Factory, question string) bool {
	fmt.Fprint(f.Streams.ErrOut, question+" [y/N]: ")
	line, err := f.Input(ctx, oneLine)
	if err != nil {
		fmt.Fprintln(f.Streams.ErrOut)
	}
	answer := strings.ToLower(strings.TrimSpace(string(line)))
	return answer == "y" || answer == "yes"
}

// oneLine reads a line and nothing after it, which may be the answer to the next question.
func oneLine(in io.Reader) (line []byte, err error) {
	for b := make([]byte, 1); err == nil && b[0] != '\n'; {
		if _, err = io.ReadFull(in, b); err == nil {
			line = append(line, b[0])
		}
	}
	return line, err
}

func (q Question) noTerminal(f *factory.Factory) error {
	return remedy.For(exit.Refusef("cannot ask whether to %s, since there is no terminal, so nothing was changed: %s", q.Doing, strings.Join(q.Effects, "; ")),
		remedy.Run("if you want that", f.Again(q.Namespace, "--yes")))
}

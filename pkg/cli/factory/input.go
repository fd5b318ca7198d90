package factory

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// Interactive reports whether a user can be asked: standard input is a terminal, and not one of a
// CI system. A command would wait for ever for a pipe without a writer. A reader that is no file
// has a user's answers, as in tests.
func (f *Factory) Interactive() bool {
	in, isFile := f.Streams.In.(*os.File)
	return !report.InCI(f.Env) && (!isFile || term.IsTerminal(int(in.Fd())))
}

// CanAsk reports whether a question and its answer reach the user. That is so where Interactive holds, and the error
// stream is a terminal as well. If the question were written to a file, nobody would see it, and the command would
// wait for ever.
func (f *Factory) CanAsk() bool {
	out, isFile := harmless.Under(f.Streams.ErrOut).(*os.File)
	return f.Interactive() && (!isFile || term.IsTerminal(int(out.Fd())))
}

// Input reads standard input, until ctx ends: otherwise a command that waits for an answer could
// not be interrupted.
func (f *Factory) Input(ctx context.Context, read func(io.Reader) ([]byte, error)) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := read(f.Streams.In)
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

package factory

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// Interactive reports whether a person can be asked: standard input is a terminal,
// and not one that a CI system has made. A pipe that nobody writes to would keep a
// command waiting for ever. A reader that is no file is a person's answers.
func (f *Factory) Interactive() bool {
	in, isFile := f.Streams.In.(*os.File)
	return !report.InCI(f.Env) && (!isFile || term.IsTerminal(int(in.Fd())))
}

// Input reads standard input, until ctx ends: a terminal at which nobody types
// would else keep a command from being interrupted.
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

package factory

import (
	"context"
	"io"
)

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

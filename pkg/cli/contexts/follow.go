package contexts

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

// Follow runs a command that takes long, or with the flag once for each context at the same time. Lines are written as
// they come, each with the context in front. Events are not changed, because each event has the field of its context.
func (c *Flag) Follow(ctx context.Context, f *factory.Factory, events bool, run func(context.Context, *factory.Factory) error) error {
	if !c.Given() {
		return run(ctx, f)
	}
	names, err := c.names(f)
	if err != nil {
		return err
	}
	shared := Shared{Streams: f.Streams, Events: events}
	all := sideBySide(names, func(name string) Result[struct{}] {
		part := f.In(name, shared.For(name))
		r := Result[struct{}]{Context: name, Err: run(ctx, part)}
		if reason := r.Reason(); reason != "" && ctx.Err() == nil { // at once, because the others may take long
			fmt.Fprintln(part.Streams.ErrOut, "error: "+reason)
			r.Shown = true
		}
		return r
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return joined(all)
}

// Shared are streams that several commands write to at the same time. Each line is whole, and begins with the name of
// its command.
type Shared struct {
	Streams genericiooptions.IOStreams
	// Events: what is written to Out are events, which are not changed.
	Events bool

	mu sync.Mutex
}

// For returns the streams of one command.
func (s *Shared) For(name string) genericiooptions.IOStreams {
	out, errOut := &lines{to: s.Streams.Out, mu: &s.mu}, &lines{to: s.Streams.ErrOut, mu: &s.mu, before: name + ": "}
	if !s.Events {
		out.before = errOut.before
	}
	return genericiooptions.IOStreams{In: s.Streams.In, Out: out, ErrOut: errOut}
}

// lines writes whole lines to an output that several write to.
type lines struct {
	to     io.Writer
	before string // in front of each line

	mu   *sync.Mutex // of all that write to the output
	rest []byte      // a line without its end
}

// Write implements io.Writer.
func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, text...)
	for {
		at := bytes.IndexByte(l.rest, '\n')
		if at < 0 {
			return len(text), nil
		}
		line := append([]byte(l.before), l.rest[:at+1]...)
		l.rest = l.rest[at+1:]
		if _, err := l.to.Write(line); err != nil {
			return len(text), err
		}
	}
}

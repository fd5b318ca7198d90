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
// they come, each with its context in front. Events are not changed: each has its context.
func (c *Flag) Follow(ctx context.Context, f *factory.Factory, events bool, run func(context.Context, *factory.Factory) error) error {
	if !c.Given() {
		return run(ctx, f)
	}
	names, err := c.names(f)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	all := sideBySide(names, func(name string) Result[struct{}] {
		out, errOut := &lines{to: f.Streams.Out, mu: &mu}, &lines{to: f.Streams.ErrOut, mu: &mu, before: name + ": "}
		if !events {
			out.before = errOut.before
		}
		r := Result[struct{}]{Context: name, Err: run(ctx, f.In(name, genericiooptions.IOStreams{In: f.Streams.In, Out: out, ErrOut: errOut}))}
		if reason := r.Reason(); reason != "" && ctx.Err() == nil { // at once, because the others may take long
			fmt.Fprintln(errOut, "error: "+reason)
			r.Shown = true
		}
		return r
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return joined(all)
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

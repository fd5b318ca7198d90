package contexts

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// answerWithin is how long an API server may take for an answer to a command that reads, without --request-timeout. A
// server that does not answer holds back the result of all others.
const answerWithin = 5 * time.Second

// Each calls a function once, or with the flag once for each context, at the same time. The results are in the order of
// the names of contexts. An error in one context is in the result of that context.
func Each[T any](ctx context.Context, f *factory.Factory, c *Flag, read func(context.Context, *factory.Factory) (T, error)) ([]Result[T], error) {
	if !c.Given() {
		value, err := read(ctx, f)
		return []Result[T]{{Value: value, Err: err}}, nil
	}
	names, err := c.names(f)
	if err != nil {
		return nil, err
	}
	defer spin.On(f, "reading "+remedy.Count(len(names), "context", "contexts")).Stop()
	all := sideBySide(names, func(name string) Result[T] {
		r := readContext(ctx, f, name, read)
		r.Context = name
		return r
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return all, nil
}

// names returns the contexts, in alphabetical order.
func (c *Flag) names(f *factory.Factory) ([]string, error) {
	raw, err := f.Kubeconfig()
	if err != nil {
		return nil, err
	}
	return match(raw, c.patterns)
}

// sideBySide calls a function for all names at the same time, and returns the results in the order of the names.
func sideBySide[R any](names []string, call func(string) R) []R {
	all := make([]R, len(names))
	var calls sync.WaitGroup
	for i, name := range names {
		calls.Go(func() { all[i] = call(name) })
	}
	calls.Wait()
	return all
}

// readContext reads one context. A call whose API server is never asked is given up. The program that the kubeconfig
// names for credentials may wait for a login, and does not end with ctx.
func readContext[T any](ctx context.Context, f *factory.Factory, name string, read func(context.Context, *factory.Factory) (T, error)) Result[T] {
	var out, notes bytes.Buffer
	part := f.In(name, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &notes})
	limit := part.AnswerWithin(answerWithin)
	done := make(chan Result[T], 1)
	go func() {
		value, err := read(ctx, part)
		done <- Result[T]{Value: value, Err: err, notes: notes.String()}
	}()
	late := time.NewTimer(limit + 2*time.Second) // later than a request ends
	defer late.Stop()
	for {
		select {
		case r := <-done:
			return r
		case <-ctx.Done():
			return Result[T]{Err: context.Cause(ctx)}
		case <-late.C:
			if !part.Answered() {
				return Result[T]{Err: fmt.Errorf("the API server was not asked within %v: the program that the kubeconfig names for credentials may wait for a login", limit)}
			}
		}
	}
}

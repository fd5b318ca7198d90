package contexts

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// Show runs a command, or with the flag once for each context. The output has a section for each context. With -o the
// output is a list of objects of this kind, each with its context.
func (c *Flag) Show(ctx context.Context, f *factory.Factory, o output.Objects, kind string, run func(context.Context, *factory.Factory) error) error {
	if !c.Given() {
		return run(ctx, f)
	}
	all, err := Each(ctx, f, c, func(ctx context.Context, part *factory.Factory) (*output.Sheet, error) {
		var s output.Sheet
		part.Streams.Out = s.Paper(f.Streams.Out)
		err := run(ctx, part)
		return &s, err
	})
	if err != nil {
		return err
	}
	if o.Table() {
		sections(f.Streams.Out, all)
		return Ended(all)
	}
	Notes(f.Streams.ErrOut, all)
	var items []unstructured.Unstructured
	for _, r := range all {
		objects, err := documents(r, kind)
		if err != nil {
			return err
		}
		items = append(items, objects...)
	}
	if err := o.Print(f.Streams.Out, output.List(kind, items)); err != nil {
		return err
	}
	return Ended(all)
}

// sections writes what each context has shown, or why it has shown nothing.
func sections(out io.Writer, all []Result[*output.Sheet]) {
	for i := range all {
		r := &all[i]
		if i > 0 {
			fmt.Fprintln(out)
		}
		switch {
		case r.Value != nil && !r.Value.Empty():
			report.Say(out, "", "context %s:", r.Context)
			fmt.Fprint(out, r.notes)
			_, _ = out.Write(r.Value.Bytes()) // a write that fails is found when the command ends
		case r.Unknown():
			report.Say(out, "", "context %s: unknown: %s", r.Context, r.Reason())
			r.Shown = true
		default:
			report.Say(out, "", "context %s: %s", r.Context, cmp.Or(r.Reason(), strings.TrimSpace(r.notes)))
			r.Shown = true
		}
	}
}

// Lack is the document about a context that has shown nothing.
type Lack struct {
	Context string `json:"context,omitempty"`
	// Unknown says why the context could not be read, and Error what else is wrong.
	Unknown string `json:"unknown,omitempty"`
	Error   string `json:"error,omitempty"`
}

// documents returns the objects of a context, each with the name of the context.
func documents(r Result[*output.Sheet], kind string) ([]unstructured.Unstructured, error) {
	if r.Value != nil && len(r.Value.Objects) > 0 {
		for i := range r.Value.Objects {
			r.Value.Objects[i].Object["context"] = r.Context
		}
		return r.Value.Objects, nil
	}
	if r.Err == nil {
		return nil, nil
	}
	object, err := output.Object(kind, "", "", r.Lack())
	if err != nil {
		return nil, err
	}
	return []unstructured.Unstructured{*object}, nil
}

// Lack says why a context has shown nothing.
func (r Result[T]) Lack() Lack {
	if r.Unknown() {
		return Lack{Context: r.Context, Unknown: r.Reason()}
	}
	return Lack{Context: r.Context, Error: r.Reason()}
}

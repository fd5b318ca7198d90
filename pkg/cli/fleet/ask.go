package fleet

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/consent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// show writes the waves with all their clusters, and the clusters that have nothing to do.
func (r *run) show(out io.Writer, waves [][][]*cluster, found []*cluster) error {
	var rows [][]string
	differs := slices.ContainsFunc(found, func(c *cluster) bool { return !c.idle && c.action != r.v.Action })
	row := func(wave string, c *cluster) {
		cells := []string{wave}
		if c.context != "" {
			cells = append(cells, c.context)
		}
		cells = append(cells, c.Namespace, c.Name, c.version)
		if differs && c.idle {
			cells = append(cells, "")
		} else if differs {
			cells = append(cells, c.action)
		}
		rows = append(rows, cells)
	}
	for i, w := range waves {
		for _, c := range flat(w) {
			row(strconv.Itoa(i+1), c)
		}
	}
	for _, c := range found {
		if c.idle {
			row("nothing to do", c)
		}
	}
	headers := []string{"Wave"}
	if r.o.contexts.Given() {
		headers = append(headers, "Context")
	}
	headers = append(headers, "Namespace", "Name", "Version")
	if differs {
		headers = append(headers, "Change")
	}
	return report.Table(out, headers, rows)
}

// consent shows the waves, and asks whether to go on. A user also types the name of each cluster from which something
// is taken away that users may need, as for one cluster.
func (r *run) consent(ctx context.Context, waves [][][]*cluster, found []*cluster) error {
	if r.d.Yes {
		return nil
	}
	n := 0
	for _, w := range waves {
		n += len(flat(w))
	}
	what := fmt.Sprintf("carry out %q on %s", r.v.Action, remedy.Count(n, "cluster", "clusters"))
	if !r.f.CanAsk() || r.d.Output.JSON() {
		return remedy.For(exit.Refusef("cannot ask whether to %s, since there is no terminal, so nothing was changed", what),
			remedy.Run("see the clusters and the waves", r.f.Again(r.namespace(), "--dry-run")),
			remedy.Run("if you want that", r.f.Again(r.namespace(), "--yes")))
	}
	fmt.Fprintf(r.f.Streams.ErrOut, "About to %s:\n", what)
	if err := r.show(r.f.Streams.ErrOut, waves, found); err != nil {
		return err
	}
	if err := consent.GoOn(ctx, r.f); err != nil {
		return err
	}
	for _, c := range found {
		if len(c.effects) == 0 {
			continue
		}
		q := consent.Question{
			Namespace: c.Namespace, Name: c.Name, Effects: c.effects,
			Doing: fmt.Sprintf("carry out %q on %s", r.v.Action, target.Title(c.Cluster)),
		}
		if err := consent.Ask(ctx, r.factory(c, r.f.Streams), q); err != nil {
			return err
		}
	}
	return nil
}

// foresee prints what would be done.
func (r *run) foresee(waves [][][]*cluster, found []*cluster) error {
	if err := r.show(r.f.Streams.Out, waves, found); err != nil {
		return err
	}
	code := exit.OK
	for _, c := range found {
		code = exit.Worse(exit.Of(c.verdict), code)
		for _, note := range c.notes {
			fmt.Fprintf(r.f.Streams.Out, "%s: %s\n", c.title(r.f.Context()), note)
		}
		if text := r.reason(&cluster{Cluster: c.Cluster, context: c.context, err: c.verdict}); text != "" {
			fmt.Fprintf(r.f.Streams.Out, "%s: %s\n", c.title(r.f.Context()), text)
		}
	}
	return exit.With(code, nil)
}

package drive

import (
	"fmt"
	"io"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// prospect is a request, compared with the cluster as it is.
type prospect struct {
	request  proposal
	wanted   desired.State
	snapshot state.Snapshot
	plan     plan.Plan
	// warnings are no reason to refuse.
	warnings []warning
}

// print prints what would be done: to which components, and the first steps. The steps after that
// depend on the cluster by then.
func (p prospect) print(out io.Writer, context string) {
	c := p.wanted.Cluster
	for _, w := range p.warnings {
		fmt.Fprintln(out, "note:", w.line(context))
	}
	if p.request.ends.Recorded {
		fmt.Fprintf(out, "note: %s; that time is over, and the pause would end\n", p.request.ends)
	}
	if p.plan.Outcome == plan.Converged {
		fmt.Fprintf(out, "%s has converged: there is nothing to do\n", title(c))
		return
	}
	fmt.Fprintf(out, "%s, %s:\n", title(c), p.request.Action)
	if p.plan.Outcome == plan.Paused {
		fmt.Fprintln(out, "it would be written, and wait until the cluster is not paused any more")
	}
	for _, g := range p.wanted.Groups {
		if what := p.changes(g); what != "" {
			fmt.Fprintf(out, "  %s: %s\n", g.Kind.Title(), what)
		}
	}
	if len(p.plan.Steps) > 0 {
		fmt.Fprintln(out, "it would begin with:")
	}
	for _, step := range p.plan.Steps {
		fmt.Fprintf(out, "  %s\n", step)
	}
	switch {
	case p.plan.Outcome == plan.Blocked:
		fmt.Fprintln(out, "it is blocked, manual action required:")
	case len(p.plan.Gates) > 0:
		fmt.Fprintln(out, "it would wait for:")
	}
	for _, g := range p.plan.Gates {
		fmt.Fprintf(out, "  %s\n", g)
		if g.Remedy != nil {
			fmt.Fprintf(out, "    %s\n", g.Remedy.Line(context))
		}
	}
}

// growth returns which volumes become larger.
func growth(g desired.Group, got state.Group) []string {
	var parts []string
	for _, v := range g.Volumes {
		if have, ok := got.Set.Volumes[v.Name]; ok && have != v.Size {
			parts = append(parts, fmt.Sprintf("volumes %s from %s to %s, without a restart", v.Name, have, v.Size))
		}
	}
	return parts
}

// changes returns what changes in a component, "" for nothing.
func (p prospect) changes(g desired.Group) string {
	got := p.snapshot.Groups[g.Kind]
	if g.Suspend && got.Set.Exists {
		return fmt.Sprintf("suspended: its %s stop, their data is kept", members(got.Set.Replicas))
	}
	if g.Suspend {
		return ""
	}
	if !got.Set.Exists {
		return fmt.Sprintf("%s of %s", members(g.Replicas), g.Version)
	}
	var parts []string
	if p.request.now != nil {
		if old, ok := p.request.now.Group(g.Kind); ok && old.Version != g.Version {
			parts = append(parts, fmt.Sprintf("%s to %s", old.Version, g.Version))
		}
	}
	if got.Set.Replicas != g.Replicas {
		parts = append(parts, fmt.Sprintf("%d to %s", got.Set.Replicas, members(g.Replicas)))
	}
	parts = append(parts, growth(g, got)...)
	switch n := restarts(g, got); {
	case n > 0 && g.Manual:
		parts = append(parts, fmt.Sprintf("%d to restart when you delete their pods", n))
	case n > 1:
		parts = append(parts, fmt.Sprintf("%d to restart, one at a time", n))
	case n > 0:
		parts = append(parts, "1 to restart")
	}
	return strings.Join(parts, ", ")
}

// restarts counts the members that stay and get another pod.
func restarts(g desired.Group, got state.Group) int {
	stay := got.Running()
	stay = stay[:min(g.Replicas, len(stay))]
	if got.Set.Template != g.Template {
		return len(stay)
	}
	n := 0
	for _, m := range stay {
		if got.Outdated(m) {
			n++
		}
	}
	return n
}

func members(n int) string {
	if n == 1 {
		return "1 member"
	}
	return fmt.Sprintf("%d members", n)
}

// verdict returns the error with which a dry run ends.
func (p prospect) verdict(o Options) error {
	switch {
	case p.plan.Outcome == plan.Converged:
		return nil
	case p.plan.Outcome == plan.Blocked, p.plan.Outcome == plan.Paused:
		return conclude(p.plan, nil)
	case o.ExitCode:
		return exit.With(exit.Pending, nil)
	}
	return nil
}

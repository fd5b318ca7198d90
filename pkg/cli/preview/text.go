package preview

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/forecast"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// writer writes lines of a width, and remembers which gates it has written.
type writer struct {
	out   report.Paper
	gates map[plan.GateKey]bool // the gates that were printed
}

func (w writer) line(indent, format string, args ...any) {
	report.Say(w.out, indent, format, args...)
}

// Print prints it for people, in lines of a width; 0 for no limit.
func (p Preview) Print(out io.Writer, width int) {
	w := writer{report.Paper{Writer: out, Columns: width}, map[plan.GateKey]bool{}}
	for _, n := range p.Notes {
		w.line("", "note: %s", n)
	}
	first := p.Forecast.First
	if first.Outcome == plan.Converged && len(p.Forecast.Steps) == 0 {
		w.line("", "%s has converged: there is nothing to do", p.title())
		return
	}
	w.line("", "%s, %s:", p.title(), p.Action)
	if first.Outcome == plan.Paused {
		w.line("", "the cluster is paused: nothing is done before the pause ends")
	}
	for _, c := range p.changes() {
		w.line("  ", "%s: %s", c.Component.Title(), c)
		for i, batch := range c.Batches {
			w.line("    ", "batch %d: %s", i+1, names(batch))
		}
		w.fields("pods", c.Pods)
		w.fields("configuration", c.Config)
	}
	p.writeGates(w, "blocked now, while other steps are taken; manual action required:", blockedGates(first))
	p.steps(w)
	p.totals(w)
	p.end(w)
}

// mostFields is how many fields are listed of a pod template or a configuration.
const mostFields = 10

func (w writer) fields(of string, fields []render.Field) {
	for i, f := range fields {
		if i == mostFields && len(fields) > mostFields+1 {
			w.line("    ", "%s: %d more fields", of, len(fields)-i)
			return
		}
		w.line("    ", "%s: %s", of, field(f))
	}
}

func field(f render.Field) string {
	switch {
	case f.Hidden:
		return f.Path + " changes (values are not shown)"
	case f.Old == "":
		return fmt.Sprintf("%s: %s (new)", f.Path, f.New)
	case f.New == "":
		return fmt.Sprintf("%s: %s is removed", f.Path, f.Old)
	}
	return fmt.Sprintf("%s: %s -> %s", f.Path, f.Old, f.New)
}

// blockedGates are the gates of which a person should know before anything begins, although other steps can
// be taken.
func blockedGates(p plan.Plan) []plan.Gate {
	var all []plan.Gate
	for _, g := range p.Gates {
		if g.Blocked && p.Outcome != plan.Blocked {
			all = append(all, g)
		}
	}
	return all
}

func (p Preview) writeGates(w writer, title string, gates []plan.Gate) {
	gates = slices.DeleteFunc(slices.Clone(gates), func(g plan.Gate) bool { return w.gates[g.Key()] })
	if len(gates) > 0 {
		w.line("", "%s", title)
	}
	for _, g := range gates {
		w.gates[g.Key()] = true
		w.line("  ", "%s", g)
		if g.Remedy != nil {
			report.Advise(w.out, "    ", g.Remedy.In(p.Context))
		}
	}
}

func (p Preview) steps(w writer) {
	all := phases(p.Forecast.Steps)
	if len(all) > 0 {
		w.line("", "if nothing goes wrong, this is done:")
	}
	for i, ph := range all {
		with := ""
		if ph.With {
			with = ", at the same time"
		}
		w.line("", "%3d. %s: %s%s", i+1, ph.about(), ph.Name, with)
		for _, work := range ph.works() {
			w.line("     ", "%s", work)
		}
	}
	if p.Forecast.Cut {
		w.line("", "and more steps, which are not listed")
	}
}

func (p phase) about() string {
	if p.Component == "" {
		return "the cluster"
	}
	return p.Component.Title()
}

func (w work) String() string {
	var tasks []string
	for _, t := range w.tasks {
		text := t.text
		if len(t.waits) > 0 {
			text += " (wait: " + strings.Join(t.waits, ", ") + ")"
		}
		tasks = append(tasks, text)
	}
	if len(w.members) == 0 {
		return strings.Join(tasks, ", ")
	}
	return names(w.members) + ": " + strings.Join(tasks, ", ")
}

// many is how many names are listed: of more, only the first, the last and their number are.
const many = 5

func names(all []string) string {
	if len(all) <= many {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s to %s (%s)", all[0], all[len(all)-1], Members(len(all)))
}

func (p Preview) totals(w writer) {
	t := p.Forecast.Totals
	var lines []string
	var restarts []string
	n := 0
	for _, c := range t.Restarts {
		n += c.Number
		restarts = append(restarts, fmt.Sprintf("%d of %s", c.Number, c.Component.Title()))
	}
	if n > 0 {
		lines = append(lines, fmt.Sprintf("restarts: %d (%s)", n, strings.Join(restarts, ", ")))
	}
	if t.Starting > 0 {
		text := fmt.Sprintf("time until their pods are ready, by what they took last time: %s", state.Age(t.Starting))
		if t.StartingUnknown > 0 {
			text += fmt.Sprintf(" (not known of %d)", t.StartingUnknown)
		}
		lines = append(lines, text)
	}
	if !t.Leaders.Zero() {
		lines = append(lines, "region leaders that leave a store before that: "+amount(t.Leaders))
	}
	if t.PDLeaderMoves > 0 {
		lines = append(lines, fmt.Sprintf("moves of PD's leader: %d", t.PDLeaderMoves))
	}
	if !t.Regions.Zero() {
		lines = append(lines, "regions that move to other stores: "+amount(t.Regions))
	}
	for _, c := range []struct {
		what   string
		claims []string
	}{{"claims that are made", t.Made}, {"claims that grow", t.Grown}, {"claims that are deleted, with their data", t.Deleted}} {
		if len(c.claims) > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d (%s)", c.what, len(c.claims), some(c.claims)))
		}
	}
	w.list("in all:", lines)
	w.list("this cannot be taken back:", t.Lasting)
}

func (w writer) list(title string, lines []string) {
	if len(lines) > 0 {
		w.line("", "%s", title)
	}
	for _, l := range lines {
		w.line("  ", "%s", l)
	}
}

func some(all []string) string {
	if len(all) <= many {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:many-1], ", "), len(all)-many+1)
}

// amount says a number of which a part may be unknown.
func amount(a forecast.Amount) string {
	stores := "not known of " + remedy.Count(a.Unknown, "store", "stores")
	switch {
	case a.Unknown == 0:
		return strconv.Itoa(a.Known)
	case a.Known == 0:
		return stores
	}
	return fmt.Sprintf("at least %d, %s", a.Known, stores)
}

// end says what keeps the cluster from being converged after that. Where there is nothing to do, it says what is waited for
// now.
func (p Preview) end(w writer) {
	if first := p.Forecast.First; len(p.Forecast.Steps) == 0 && first.Outcome == plan.Wait {
		p.writeGates(w, "there is nothing to do, and it waits for:", first.Gates)
	}
	last, when := p.Forecast.Last, ""
	if len(p.Forecast.Steps) > 0 {
		when = "then "
	}
	switch {
	case p.Forecast.Cut:
	case last.Outcome == plan.Canary:
		p.writeGates(w, when+"it waits to be promoted:", last.Gates)
	case last.Outcome == plan.Blocked:
		p.writeGates(w, when+"it is blocked, manual action required:", last.Gates)
	case last.Outcome == plan.Wait:
		p.writeGates(w, when+"it waits for:", last.Gates)
	}
}

package status

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// headlines are the first lines for each outcome of a plan.
var headlines = map[plan.Outcome]string{
	plan.Converged: "converged",
	plan.Act:       "not converged: there is something to do",
	plan.Wait:      "not converged yet",
	plan.Blocked:   "blocked: manual action required",
	plan.Paused:    "paused: nothing is done",
	plan.Canary:    "canary: waits to be promoted",
}

// print writes the cluster in the format of -o.
func (l sight) print(out io.Writer, o output.Objects) error {
	if o.Table() {
		return l.show(out, o.Wide())
	}
	object, err := output.Object("ClusterStatus", l.wanted.Cluster.Namespace, l.wanted.Cluster.Name, l.view())
	if err != nil {
		return err
	}
	return o.Print(out, object)
}

// show writes the cluster for people; wide adds columns that are seldom needed.
func (l sight) show(out io.Writer, wide bool) error {
	report.Say(out, "", "%s: %s", l.title(), l.headline())
	l.who(out)
	fmt.Fprintln(out)
	columns := []string{"name", "state", "leaders", "regions", "version", "restarts", "age"}
	if wide {
		columns = append(columns, "id", "node", "volumes")
	}
	if err := report.Tree(out, append(columns, "note"), l.rows(wide)); err != nil {
		return err
	}
	l.remarks(out)
	l.todo(out)
	return nil
}

// title names the cluster as a run does, with the context of the kubeconfig.
func (l sight) title() string {
	c := l.wanted.Cluster
	parts := []string{c.Namespace, c.Name}
	if l.context != "" {
		parts = slices.Insert(parts, 0, l.context)
	}
	return strings.TrimSpace(strings.Join(parts, " / ") + " " + c.Source.Spec.Version)
}

// who says who drives the cluster, and who has paused it.
func (l sight) who(out io.Writer) {
	if l.driver.Identity != "" {
		report.Say(out, "", "%s drives it; last sign of life %s ago", l.driver.Describe(), l.ago(l.driver.Renewed))
	}
	if text := summary(l.membersElsewhere()); text != "" {
		report.Say(out, "", "elsewhere: %s", text)
	}
	l.pause(out)
}

// headline says how the cluster is in a few words.
func (l sight) headline() string {
	off := l.wanted.Cluster.Suspended()
	switch {
	case l.wanted.Cluster.Deleting:
		return "being deleted"
	case len(off) > 0 && l.plan.Outcome == plan.Converged:
		return "converged; suspended: " + kinds(off)
	}
	return headlines[l.plan.Outcome]
}

// remarks prints what is in no table.
func (l sight) remarks(out io.Writer) {
	if !l.snapshot.PD.Known() && !l.wanted.Cluster.PDSuspended() {
		fmt.Fprintln(out)
		report.Say(out, "", "PD could not be asked: %s", l.snapshot.PD.Problem)
	}
	for _, f := range l.plan.Notices {
		about := cmp.Or(f.Member, f.Component.Title(), "the cluster")
		fmt.Fprintln(out)
		report.Say(out, "", "%s: %s", about, f.Text)
		report.Advise(out, "  ", f.Remedy.In(l.context))
	}
	for _, e := range l.snapshot.Evictions {
		if e.Foreign || l.plan.Outcome == plan.Paused { // of a paused cluster it is among the findings
			continue
		}
		fmt.Fprintln(out)
		report.Say(out, "", "kubectl tidb keeps region leaders off %s (store %d), for %s now",
			e.Member, e.StoreID, l.ago(e.Since))
	}
	for _, u := range l.plan.Unapplied {
		fmt.Fprintln(out)
		report.Say(out, "", "%s", u)
		report.Advise(out, "  ", u.Remedy.In(l.context))
	}
}

// pause says who has paused the cluster, and what ends that.
func (l sight) pause(out io.Writer) {
	c := l.wanted.Cluster
	if !c.Paused {
		return
	}
	end := remedy.Run("end the pause", c.Plugin("resume"))
	if c.Pause.Over(l.snapshot.At) {
		end = remedy.Run("that time is over, and the next command ends the pause, such as", c.Plugin("sync"))
	}
	report.Say(out, "", "%s", c.Pause)
	report.Advise(out, "  ", remedy.Remedy{end}.In(l.context))
}

// ago returns how long before the look something was; a driver may have renewed its lease since.
func (l sight) ago(at time.Time) string {
	return state.Age(l.snapshot.At.Sub(at))
}

// todo prints the steps and gates that are left.
func (l sight) todo(out io.Writer) {
	if len(l.plan.Steps)+len(l.plan.Gates) > 0 {
		fmt.Fprintln(out)
	}
	for _, s := range l.plan.Steps {
		report.Say(out, "", "to do: %s", s)
	}
	for _, g := range l.plan.Gates {
		word := "waits for"
		if g.Blocked {
			word = "blocked by"
		}
		report.Say(out, "", "%s: %s", word, g)
		if g.Remedy != nil {
			report.Advise(out, "  ", g.Remedy.In(l.context))
		}
	}
	c := l.wanted.Cluster
	if l.plan.Outcome != plan.Act || !l.operator && l.driver.Identity != "" {
		return
	}
	next := remedy.Run("go on with", c.Plugin("sync"))
	if l.operator {
		next = remedy.Run("it is for the operator to go on; if it does not drive this cluster", c.Plugin("sync", "--take-over"))
	}
	fmt.Fprintln(out)
	report.Advise(out, "", remedy.Remedy{next}.In(l.context))
}

// countServing returns how many members serve. It is "?" if none is known to serve, because members that may serve
// could not be asked.
func countServing(got state.Group) string {
	n := got.Up()
	if n == 0 && got.Unknown() > 0 {
		return "?"
	}
	return strconv.Itoa(n)
}

func kinds(all []topology.Kind) string {
	var names []string
	for _, k := range all {
		names = append(names, k.Title())
	}
	return strings.Join(names, ", ")
}

// rows returns a row for each component, and below it a row for each member.
func (l sight) rows(wide bool) [][]string {
	var rows [][]string
	members := l.members()
	for _, g := range l.wanted.Groups {
		rows = append(rows, l.component(g, wide))
		for _, m := range members {
			if m.Component != string(g.Kind) {
				continue
			}
			row := []string{"  " + m.Name, m.State, number(m.Leaders), number(m.Regions), dash(m.Version), number(m.Restarts), l.age(m.Made)}
			if wide {
				row = append(row, id(m.ID), dash(m.Node), dash(m.volumes()))
			}
			rows = append(rows, append(row, m.note()))
		}
	}
	return rows
}

// component returns the row of a component: how many of its members serve, and how many have what is asked.
func (l sight) component(g desired.Group, wide bool) []string {
	got := l.snapshot.Groups[g.Kind]
	n := 0
	for _, m := range got.InSet() {
		if g.Current(got, m) {
			n++
		}
	}
	state, note := fmt.Sprintf("%s of %d up", countServing(got), g.Size()), ""
	if n < g.Size() && g.Set.Drift != desired.Unrendered {
		note = fmt.Sprintf("%d of %d updated", n, g.Size())
	}
	if g.Held && note != "" {
		note += fmt.Sprintf(", canary of %d", g.Canary)
	}
	if g.Suspend {
		state, note = "suspended", ""
		if n := got.Up(); n > 0 {
			note = fmt.Sprintf("%d still up", n)
		}
	}
	row := []string{g.Kind.Title(), state, "", "", dash(g.Version), "", ""}
	if wide {
		row = append(row, "", "", "")
	}
	return append(row, note)
}

// age returns how old a pod is.
func (l sight) age(made *time.Time) string {
	if made == nil {
		return "-"
	}
	return l.ago(*made)
}

func id(n uint64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatUint(n, 10)
}

func number(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

package finding

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// pauseLong is how long a pause mostly lasts at most.
const pauseLong = 24 * time.Hour

// notDriven reports that there is something to do.
func notDriven(l Look) []Finding {
	if l.Plan.Outcome != plan.Act && l.Plan.Outcome != plan.Wait {
		return nil
	}
	var lines []string
	for _, s := range l.Plan.Steps {
		lines = append(lines, "to do: "+s.String())
	}
	for _, g := range l.Plan.Gates {
		lines = append(lines, "waits for: "+g.String())
	}
	return []Finding{{Seen: some(lines), Remedy: remedy.Remedy{l.drive("go on"), l.see()}}}
}

// some returns the first of several texts, and how many others there are.
func some(all []string) string { return remedy.FirstFew(all, "; ") }

// driftedObjects are objects that differ from what the spec asks for, or are missing.
func driftedObjects(l Look) []Finding {
	all := l.differ("", l.Wanted.Objects)
	for _, g := range l.Wanted.Groups {
		if g.Suspend {
			continue
		}
		all = append(all, l.differ(g.Kind, slices.Concat(g.Services, g.Config, []desired.Object{g.PutBack, g.Set}))...)
	}
	return all
}

func (l Look) differ(k topology.Kind, objects []desired.Object) []Finding {
	words := map[desired.Drift]string{desired.Missing: "is missing", desired.Differs: "is not as the spec asks for"}
	var names []string
	for _, o := range objects {
		if len(o.Edits) > 0 {
			names = append(names, edited(o))
		} else if word, differs := words[o.Drift]; differs {
			names = append(names, fmt.Sprintf("%s %s %s%s", o.Kind, o.Name, word, l.writer(k, o)))
		}
	}
	if len(names) == 0 {
		return nil
	}
	help := remedy.Remedy{l.drive("make it what the spec asks for")}
	if !l.Wanted.Cluster.Paused {
		help = slices.Insert(help, 0, remedy.Run("see what would be done", l.Wanted.Cluster.Plugin("sync", "--dry-run")))
	}
	return []Finding{{Component: k, Seen: some(names), Remedy: help}}
}

// edited says which fields of a pod template others have changed.
func edited(o desired.Object) string {
	var fields []string
	for _, e := range o.Edits {
		fields = append(fields, e.String())
	}
	return fmt.Sprintf("pod template of %s %s was changed: %s", o.Kind, o.Name, some(fields))
}

// writer says who has written an object last, and when, where that is known: of a StatefulSet that exists.
func (l Look) writer(k topology.Kind, o desired.Object) string {
	set := l.Snapshot.Groups[k].Set
	if o.Kind != "StatefulSet" || o.Drift == desired.Missing || set.Writer == "" {
		return ""
	}
	return fmt.Sprintf(" (written last by %s, %s)", set.Writer, l.ago(set.Written))
}

// outdated are pods that have not the update revision.
func outdated(l Look) []Finding {
	var all []Finding
	for _, g := range l.Wanted.Groups {
		got := l.Snapshot.Groups[g.Kind]
		var names []string
		for _, m := range got.InSet() {
			if m.Pod != nil && !m.Pod.Terminating && got.Outdated(m) {
				names = append(names, m.Name)
			}
		}
		if len(names) == 0 || g.Suspend || len(g.PutBack.Edits) > 0 { // nobody has asked for the update revision
			continue
		}
		f := Finding{Component: g.Kind, Remedy: remedy.Remedy{l.drive("restart them one after another")},
			Seen: fmt.Sprintf("%s: not at revision %s yet", remedy.FirstFew(names, ", "), got.Set.UpdateRevision)}
		if got.Set.Manual {
			f.Seen += "; with OnDelete they restart only when a person asks for it"
			f.Remedy = l.restart(names)
		}
		all = append(all, f)
	}
	return all
}

// replicas compares how many members are asked for with how many Kubernetes and PD have.
func replicas(l Look) []Finding {
	var all []Finding
	for _, g := range l.Wanted.Groups {
		got, size := l.Snapshot.Groups[g.Kind], g.Size()
		if g.Suspend || !got.Set.Exists {
			continue
		}
		inPD, known := registered(l.Snapshot.PD, g.Kind, got.Members)
		if got.Set.Ordinals().Same(g.Ordinals()) && (!known || inPD == size-l.removedVoters(g, got)) {
			continue
		}
		seen := fmt.Sprintf("%d asked for, and StatefulSet %s has %s", size, l.Wanted.Cluster.SetName(g.Kind), remedy.Count(got.Set.Replicas, "replica", "replicas"))
		if got.Set.Replicas == size && !got.Set.Ordinals().Same(g.Ordinals()) {
			seen += " with other ordinals"
		}
		if known {
			seen += fmt.Sprintf("; PD has %d of its members", inPD)
		}
		all = append(all, Finding{Component: g.Kind, Seen: seen, Remedy: remedy.Remedy{l.drive("make them as many as are asked for"), l.see()}})
	}
	return all
}

// removedVoters counts the members that were given up and that PD has removed. PD does not get them back as long as
// their hosts are lost.
func (l Look) removedVoters(g desired.Group, got state.Group) int {
	n := 0
	for _, m := range got.InSet() {
		if l.voteless(g, m) {
			n++
		}
	}
	return n
}

// registered counts the members that PD has, where PD has said so of each.
func registered(pd state.PD, k topology.Kind, members []state.Member) (n int, known bool) {
	if !pd.Known() || k.Data() != topology.Raft && k.Data() != topology.Store {
		return 0, false
	}
	for _, m := range members {
		switch {
		case m.Database.Presence == state.Unknown:
			return 0, false
		case m.Database.Presence == state.Present && !m.Database.Removed():
			n++
		}
	}
	return n, true
}

// versions are components whose members run several versions.
func versions(l Look) []Finding {
	var all []Finding
	for _, g := range l.Wanted.Groups {
		by := map[string][]string{}
		for _, m := range l.Snapshot.Groups[g.Kind].InSet() {
			if v := m.Version(); v != "" {
				by[v] = append(by[v], m.Name)
			}
		}
		if len(by) < 2 {
			continue
		}
		var parts []string
		for _, v := range slices.Sorted(maps.Keys(by)) {
			parts = append(parts, v+" on "+strings.Join(by[v], ", "))
		}
		all = append(all, Finding{
			Component: g.Kind, Seen: strings.Join(parts, "; "),
			Remedy: remedy.Remedy{l.drive("finish the change of the version")},
		})
	}
	return all
}

func unapplied(l Look) []Finding {
	var all []Finding
	for _, u := range l.Plan.Unapplied {
		all = append(all, Finding{Component: u.Component, Seen: u.String(), Remedy: u.Remedy})
	}
	return all
}

// claimsNotKept are StatefulSets with which Kubernetes deletes the claims of pods that go.
func claimsNotKept(l Look) []Finding {
	var all []Finding
	for _, g := range l.Wanted.Groups {
		set := l.Snapshot.Groups[g.Kind].Set
		for _, p := range []struct {
			when    string
			deletes bool
		}{{"whenScaled", set.DeletesWhenScaled}, {"whenDeleted", set.DeletesWhenDeleted}} {
			if p.deletes {
				c := l.Wanted.Cluster
				all = append(all, Finding{
					Component: g.Kind, Object: c.SetName(g.Kind), Seen: plan.ClaimsDeletedBy(c, g.Kind, set, p.when), Remedy: plan.RetainClaims(c, g.Kind, p.when),
				})
			}
		}
	}
	return all
}

// pausedLong reports a pause that may have been forgotten.
func pausedLong(l Look) []Finding {
	c := l.Wanted.Cluster
	if !c.Paused || c.Pause.Recorded && l.Snapshot.At.Sub(c.Pause.Since) < pauseLong {
		return nil
	}
	seen := c.Pause.String()
	if !c.Pause.Recorded {
		seen += "; it is not known since when"
	}
	return []Finding{{Seen: seen, Remedy: remedy.Remedy{remedy.Run("end the pause", c.Plugin("resume"))}}}
}

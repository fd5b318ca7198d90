package finding

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/claim"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func (l Look) ago(t time.Time) string {
	return state.Age(l.Snapshot.At.Sub(t)) + " ago"
}

// ends returns the step that takes an eviction of ours back, as a run takes it that stops early. There
// is none while PD cannot be asked, and none in a paused cluster.
func (l Look) ends(e state.Eviction) []step.Step {
	if l.Wanted.Cluster.Paused || l.Wanted.Cluster.Deleting || !l.Snapshot.PD.Known() {
		return nil
	}
	steps, _ := plan.Undo(l.Wanted, l.Snapshot)
	for _, s := range steps {
		if allow, ok := s.(step.AllowLeaders); ok && allow.StoreID == e.StoreID {
			return []step.Step{allow}
		}
	}
	return nil
}

// schedulersLeft are evictions that we recorded and no process goes on with. The record is written before PD
// is asked, so that the scheduler may be missing; what is unknown counts as there.
func schedulersLeft(l Look) []Finding {
	if l.Plan.Outcome == plan.Paused {
		return nil // the plan names them itself
	}
	var all []Finding
	for _, e := range l.Snapshot.Evictions {
		if e.Foreign {
			continue
		}
		kind, _, _ := l.Wanted.Cluster.Member(e.Member)
		m, there := l.Snapshot.Groups[kind].Member(e.Member)
		seen := "PD has an evict-leader scheduler"
		switch {
		case !l.Snapshot.PD.Known() || l.Snapshot.PD.SchedulersUnknown:
			seen = "PD could not be asked whether it still has the evict-leader scheduler"
		case there && m.Database.ID == e.StoreID && !m.Database.Evicting:
			seen = "PD has no evict-leader scheduler any more, only the record is left, of one"
		}
		f := Finding{
			Component: kind, Member: e.Member, Fix: l.ends(e),
			Seen:   fmt.Sprintf("%s for store %d, which this plugin made %s", seen, e.StoreID, l.ago(e.Since)),
			Remedy: remedy.Remedy{l.drive("go on with what it was made for")},
		}
		if !l.Wanted.Cluster.Paused {
			f.Remedy = slices.Insert(f.Remedy, 0, remedy.Run("remove it", l.Wanted.Cluster.Plugin("doctor", "--fix")))
		}
		all = append(all, f)
	}
	return all
}

// ddlPaused is a pause of DDL that a tool has begun for an upgrade and has not ended. While TiDB servers are still to
// be restarted, the upgrade may go on.
func ddlPaused(l Look) []Finding {
	got := l.Snapshot.Groups[topology.TiDB]
	if l.DDLPaused == "" || slices.ContainsFunc(got.InSet(), got.Outdated) {
		return nil
	}
	c := l.Wanted.Cluster
	if c.DDLPause.Recorded && !c.Paused {
		return []Finding{{
			Component: topology.TiDB,
			Seen:      "DDL is paused for an upgrade of TiDB, by the record in the TidbCluster, and no TiDB server is still to be restarted",
			Remedy:    remedy.Remedy{l.drive("end the pause")},
		}}
	}
	finish := append([]string{"exec", l.DDLPaused, "-c", string(topology.TiDB), "--"}, c.TiDBStatusCall("/upgrade/finish", "-X", "POST")...)
	return []Finding{{
		Component: topology.TiDB,
		Seen:      "DDL is paused by /upgrade/start of TiDB, and no TiDB server is still to be restarted",
		Remedy:    remedy.Remedy{remedy.Run("if no upgrade is under way, end the pause", c.Kubectl(finish...))},
	}}
}

// restoreSettings are settings of PD that BR changes for a restore. The restore runs, or it was killed.
func restoreSettings(l Look) []Finding {
	c := l.Wanted.Cluster
	if c.Source == nil {
		return nil
	}
	was, recorded, err := backup.SettingsOf(c.Source)
	if !recorded && err == nil {
		return nil
	}
	seen := "a restore that began at " + was.Since.UTC().Format(time.RFC3339) + " has not put PD's settings back"
	if err != nil {
		seen = err.Error()
	}
	return []Finding{{
		Seen:   seen,
		Remedy: remedy.Remedy{remedy.Run("if it does not run, put them back", c.Plugin("restore", "--cancel"))},
	}}
}

// reported returns a rule for findings of the plan with one reason.
func reported(reason event.NoticeReason) func(Look) []Finding {
	return func(l Look) []Finding {
		var all []Finding
		for _, f := range l.Plan.Notices {
			if f.Reason == reason {
				all = append(all, Finding{Component: f.Component, Member: f.Member, Object: f.Object, Seen: f.Text, Remedy: f.Remedy})
			}
		}
		return all
	}
}

// removalsLeft are records of removals that are over.
func removalsLeft(l Look) []Finding {
	var all []Finding
	for _, s := range l.Plan.Steps {
		if over, ok := s.(step.ForgetRecord); ok {
			all = append(all, Finding{
				Component: over.Component, Member: over.Member, Fix: []step.Step{over},
				Seen:   fmt.Sprintf("ConfigMap %s has a record of what was done with store %d, and that is over", l.Wanted.Cluster.LedgerMap(), over.StoreID),
				Remedy: remedy.Remedy{remedy.Run("remove the record", l.Wanted.Cluster.Plugin("doctor", "--fix"))},
			})
		}
	}
	return all
}

// drainsLeft are records of drains of TiCDC that are over.
func drainsLeft(l Look) []Finding {
	var all []Finding
	for _, d := range l.Snapshot.Drains {
		kind, _, _ := l.Wanted.Cluster.Member(d.Member)
		if l.Snapshot.At.Sub(d.Asked) < plan.DrainEnds {
			continue
		}
		all = append(all, Finding{
			Component: kind, Member: d.Member, Fix: planned[step.ForgetDrain](l, kind, d.Member),
			Seen:    fmt.Sprintf("ConfigMap %s has a record of a drain that began %s", l.Wanted.Cluster.LedgerMap(), l.ago(d.Since)),
			Remedy:  remedy.Remedy{l.drive("go on with what the drain was for")},
			Unfixed: "the member has still to be restarted or removed",
		})
	}
	return all
}

// marksLeft are marks of a tidb-operator that drives the cluster no more.
func marksLeft(l Look) []Finding {
	var all []Finding
	l.members(func(g desired.Group, _ state.Group, m state.Member) {
		if !m.Pod.HandledByOperator() || m.Pod.Terminating {
			return
		}
		name, since := topology.AnnotationEvictionBegun, m.Pod.EvictionBegun
		if since.IsZero() {
			name, since = topology.AnnotationDrainBegun, m.Pod.DrainBegun
		}
		f := Finding{
			Component: g.Kind, Member: m.Name,
			Seen:    fmt.Sprintf("the pod has the annotation %s of a tidb-operator, written %s", name, l.ago(since)),
			Remedy:  remedy.Remedy{l.drive("take it over, and end it")},
			Unfixed: "PD still has what the mark stands for, or the cluster is paused; only a run takes that over",
		}
		for _, s := range l.steps(g.Kind, m.Name) {
			eviction, evicts := s.(step.AdoptEviction)
			drain, drains := s.(step.AdoptDrain)
			if evicts && eviction.Ended || drains && drain.Since.IsZero() {
				f.Fix = append(f.Fix, s)
			}
		}
		all = append(all, f)
	})
	return all
}

// claimMarks are marks on claims of members that are wanted and serve. Claims of a member that gets new volumes are marked
// before they are deleted.
func claimMarks(l Look) []Finding {
	var all []Finding
	l.members(func(g desired.Group, _ state.Group, m state.Member) {
		for _, c := range m.Claims {
			if c.Marked && g.Has(m.Ordinal) && m.Up() && !g.Replaces(m) {
				all = append(all, Finding{
					Component: g.Kind, Member: m.Name, Object: c.Name, Fix: planned[step.UnmarkClaims](l, g.Kind, m.Name),
					Seen:   fmt.Sprintf("claim %s is marked as left over by a scale-in, and %s is wanted and serves", c.Name, m.Name),
					Remedy: remedy.Remedy{l.drive("take the mark off")},
				})
			}
		}
	})
	return all
}

// claimsLeft are claims that nothing keeps.
func claimsLeft(l Look) []Finding {
	var all []Finding
	for _, c := range l.Claims {
		if c.State == claim.Left {
			all = append(all, Finding{
				Component: c.Component, Member: c.Member, Object: c.Name,
				Seen:   fmt.Sprintf("claim %s (%s): %s", c.Name, max(c.Requested, c.Capacity), c.Why),
				Remedy: remedy.Remedy{remedy.Run("delete it, with its data", remedy.Plugin(c.Namespace, "pvc", "prune", c.Cluster, c.Member))},
			})
		}
	}
	return all
}

// claimsDeleted are claims that Kubernetes deletes when their pod ends.
func claimsDeleted(l Look) []Finding {
	var all []Finding
	for _, c := range l.Claims {
		if c.State == claim.Deleting && c.Pod != "" {
			all = append(all, Finding{
				Component: c.Component, Member: c.Member, Object: c.Name,
				Seen:   fmt.Sprintf("claim %s is deleted when pod %s ends", c.Name, c.Pod),
				Remedy: remedy.Remedy{l.drive("have its member replaced before that"), remedy.Run("see the claim", l.Wanted.Cluster.Kubectl("describe", "pvc", c.Name))},
			})
		}
	}
	return all
}

// failuresLeft are records of members that were given up and serve again.
func failuresLeft(l Look) []Finding {
	var all []Finding
	for _, g := range l.Wanted.Groups {
		for _, f := range g.Failures {
			m, there := l.Snapshot.Groups[g.Kind].Member(f.Member)
			if there && !m.Up() {
				continue
			}
			seen := "serves again"
			if !there {
				seen = "does not exist any more"
			}
			all = append(all, Finding{
				Component: g.Kind, Member: f.Member, Fix: planned[step.ForgetFailure](l, g.Kind, f.Member),
				Seen:    fmt.Sprintf("%s was given up %s, and %s; its record makes %s one member larger", f.Member, l.ago(f.Created), seen, g.Kind.Title()),
				Remedy:  remedy.Remedy{remedy.Run("remove the record, and then its replacement", l.Wanted.Cluster.Plugin("failover", "recover"))},
				Unfixed: "its replacement is removed with the record, which a person has to ask for",
			})
		}
	}
	return all
}

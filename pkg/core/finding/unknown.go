package finding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func pdUnknown(l Look) []Finding {
	if l.Snapshot.PD.Known() || l.Wanted.Cluster.PDSuspended() {
		return nil
	}
	help := remedy.Remedy{l.see()}
	if len(l.Snapshot.PD.Unreached) > 0 {
		help = plan.Reach(l.Wanted.Cluster, l.Snapshot)
	}
	return []Finding{{Seen: "PD could not be asked: " + l.Snapshot.PD.Problem + l.whereUnreached(), Remedy: help}}
}

// whereUnreached names the nodes of the members of PD that cannot be reached, since often it is the node.
func (l Look) whereUnreached() string {
	var all []string
	for _, m := range l.Snapshot.Groups[topology.PD].Members {
		if slices.Contains(l.Snapshot.PD.Unreached, m.Name) && m.Pod != nil && m.Pod.Node != "" {
			all = append(all, fmt.Sprintf("%s is on node %s", m.Name, m.Pod.Node))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "; " + strings.Join(all, ", ")
}

func schedulersUnknown(l Look) []Finding {
	if !l.Snapshot.PD.Known() || !l.Snapshot.PD.SchedulersUnknown {
		return nil
	}
	return []Finding{{
		Seen:   "PD has not loaded its schedulers since its leader changed",
		Remedy: remedy.Remedy{remedy.Run("wait up to five minutes, and look again", l.Wanted.Cluster.Plugin("doctor"))},
	}}
}

// membersUnknown are members whose pods are Ready, and of which the database has said nothing.
func membersUnknown(l Look) []Finding {
	var all []Finding
	l.members(func(g desired.Group, got state.Group, m state.Member) {
		if m.Pod != nil && m.Pod.Ready && !m.Pod.Terminating && m.Database.Presence == state.Unknown {
			all = append(all, Finding{Component: g.Kind, Member: m.Name, Seen: "its pod is Ready, and it could not be asked", Remedy: l.lookAt(m)})
		}
	})
	return all
}

func driverUnknown(l Look) []Finding {
	if l.DriverUnread == "" {
		return nil
	}
	return []Finding{{Seen: "it could not be read who drives the cluster: " + l.DriverUnread, Remedy: remedy.Remedy{l.rights()}}}
}

func logBackupsUnknown(l Look) []Finding {
	if l.LogBackupsUnread == "" {
		return nil
	}
	return []Finding{{Seen: "the log backups could not be read from PD: " + l.LogBackupsUnread, Remedy: remedy.Remedy{l.see()}}}
}

func claimsUnknown(l Look) []Finding {
	if l.ClaimsUnread == "" {
		return nil
	}
	return []Finding{{Seen: "the claims could not be read: " + l.ClaimsUnread, Remedy: remedy.Remedy{l.rights()}}}
}

func (l Look) rights() remedy.Action {
	return remedy.Run("see which rights this needs", remedy.Plugin(l.Wanted.Cluster.Namespace, "auth", "role", "doctor"))
}

func gaps(l Look) []Finding {
	var all []Finding
	for _, g := range l.Snapshot.Gaps {
		all = append(all, Finding{Seen: g.What + " could not be read: " + g.Problem, Remedy: orElse(g.Remedy, l.rights())})
	}
	return all
}

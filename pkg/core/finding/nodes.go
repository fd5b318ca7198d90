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
)

// nodeRules are the rules about the nodes that members run on.
var nodeRules = []rule{
	{"node-not-ready", Error, "Kubernetes reports the pods on it not Ready, and the members on it may not serve.", byPerson, nodesNotReady},
	{"members-down-on-one-node", Error, "The host or its network is the likely cause, so look at the node before the members.", byPerson, downOnOneNode},
}

// placed returns the members that the cluster counts on, by the node of their pods. Members without a node are under "".
func (l Look) placed() map[string][]state.Member {
	by := map[string][]state.Member{}
	l.members(func(g desired.Group, got state.Group, m state.Member) {
		switch running := g.Has(m.Ordinal) || got.Set.Has(m.Ordinal); {
		case !running || g.Suspend || l.replaced(g, m):
		case m.Pod == nil:
			by[""] = append(by[""], m)
		default:
			by[m.Pod.Node] = append(by[m.Pod.Node], m)
		}
	})
	return by
}

func names(members []state.Member) string {
	var all []string
	for _, m := range members {
		all = append(all, m.Name)
	}
	return strings.Join(all, ", ")
}

// nodesNotReady are nodes with members that Kubernetes calls not Ready, or that do not exist.
func nodesNotReady(l Look) []Finding {
	var all []Finding
	placed := l.placed()
	for _, node := range slices.Sorted(maps.Keys(l.NodeReports)) {
		var seen string
		see := remedy.Run("see what Kubernetes reports of it, and bring it back", remedy.Kubectl("", "describe", "node", node))
		switch r := l.NodeReports[node]; r.State {
		case state.NodeNotReady:
			seen = fmt.Sprintf("node %s is not Ready", node)
			if !r.Since.IsZero() {
				seen += fmt.Sprintf(" since %s (%s)", r.Since.UTC().Format(time.RFC3339), l.ago(r.Since))
			}
			if r.Message != "" {
				seen += ": " + strings.TrimRight(r.Message, ". ")
			}
		case state.NodeMissing:
			seen = fmt.Sprintf("node %s does not exist any more", node)
			see = remedy.Run("see which nodes there are", remedy.Kubectl("", "get", "nodes"))
		}
		if on := placed[node]; seen != "" && len(on) > 0 {
			all = append(all, Finding{
				Object: node, Seen: seen + "; it has " + names(on), Remedy: remedy.Remedy{see, plan.Replaceable(l.Wanted.Cluster)},
			})
		}
	}
	return all
}

// inTrouble reports whether a member is known not to serve, or was asked in vain. A member that nobody has asked is not
// in trouble: while PD cannot be asked, nothing is known of most members. A member that restarts is not in trouble
// either.
func (l Look) inTrouble(m state.Member) bool {
	switch p := m.Pod; {
	case p != nil && (p.Terminating && !p.Overdue || l.Snapshot.At.Sub(p.Made) < downLong):
		return false
	case m.Unknown():
		return m.Database.Answer == state.NoAnswer || slices.Contains(l.Snapshot.PD.Unreached, m.Name)
	}
	return !m.Up()
}

// downOnOneNode is the node that has all members in trouble, where members on other nodes are not in trouble. A
// node that is not Ready has a finding of its own.
func downOnOneNode(l Look) []Finding {
	var node string
	var down, others []state.Member
	elsewhere := false
	placed := l.placed()
	for _, at := range slices.Sorted(maps.Keys(placed)) {
		troubled := slices.DeleteFunc(slices.Clone(placed[at]), func(m state.Member) bool { return !l.inTrouble(m) })
		switch {
		case len(troubled) == 0:
			elsewhere = true
			continue
		case at == "" || len(down) > 0:
			return nil
		}
		node, down = at, troubled
		others = slices.DeleteFunc(slices.Clone(placed[at]), l.inTrouble)
	}
	report := l.NodeReports[node]
	if len(down) < 2 || !elsewhere || report.State == state.NodeNotReady || report.State == state.NodeMissing {
		return nil
	}
	seen := fmt.Sprintf("all members that do not serve, or do not answer, are on node %s: %s", node, names(down))
	if len(others) > 0 {
		seen += "; other members on it: " + names(others)
	}
	if report.State == state.NodeReady {
		seen += "; Kubernetes calls the node Ready, but its network may be cut"
	}
	return []Finding{{Object: node, Seen: seen, Remedy: remedy.Remedy{
		remedy.Run("see what Kubernetes reports of it", remedy.Kubectl("", "describe", "node", node)), plan.Replaceable(l.Wanted.Cluster),
	}}}
}

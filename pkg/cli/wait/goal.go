package wait

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// Goal is what is awaited.
type Goal struct {
	text string // as the user wrote it
	// lacks returns what is still missing, "" for nothing, and the component that it is about.
	lacks func(Sight) (topology.Kind, string)
	// endless: it may come also in a cluster that is paused, or that only a person can help.
	endless bool
	// deleting: the wait goes on in a cluster that is being deleted.
	deleting bool
}

const converged = "converged"

// Outcome is that the plan of a cluster comes to something. A wait for another outcome than "converged" goes on
// until that outcome comes, also in a cluster that is being deleted.
func Outcome(name string) Goal {
	lacks := func(s Sight) (topology.Kind, string) {
		if s.Plan.Outcome.String() != name {
			return "", s.Plan.Outcome.String()
		}
		return "", ""
	}
	other := name != converged
	return Goal{text: name, endless: other, deleting: other, lacks: lacks}
}

// Never is a goal that does not come: the wait ends with an error.
func Never() Goal {
	return Goal{endless: true, deleting: true, lacks: func(Sight) (topology.Kind, string) { return "", "an end" }}
}

// forms are what can be awaited.
var forms = "converged, version=VERSION, replicas=COMPONENT=N, condition=TYPE[=STATUS]"

// parse reads the flag --for.
func parse(text string) (Goal, error) {
	what, value, given := strings.Cut(text, "=")
	switch {
	case text == converged:
		return Outcome(converged), nil
	case what == "version" && value != "":
		return Goal{text: text, lacks: func(s Sight) (topology.Kind, string) { return hasVersion(s, value) }}, nil
	case what == "replicas" && given:
		return parseReplicas(text, value)
	case what == "condition" && value != "":
		kind, status, _ := strings.Cut(value, "=")
		status = cmp.Or(status, string(corev1.ConditionTrue))
		return Goal{text: text, endless: true, lacks: func(s Sight) (topology.Kind, string) { return "", hasCondition(s, kind, status) }}, nil
	}
	return Goal{}, exit.Usagef("--for %q: it has to be one of %s", text, forms)
}

func parseReplicas(text, value string) (Goal, error) {
	name, number, _ := strings.Cut(value, "=")
	kind, known := topology.ParseKind(name)
	n, err := strconv.Atoi(number)
	switch {
	case !known:
		return Goal{}, exit.Usagef("--for %q: there is no component %q; it is written like replicas=tikv=4", text, name)
	case err != nil || n < 0:
		return Goal{}, exit.Usagef("--for %q: %q is not a number of members; it is written like replicas=tikv=4", text, number)
	}
	return Goal{text: text, lacks: func(s Sight) (topology.Kind, string) { return kind, hasReplicas(s, kind, n) }}, nil
}

// NoLeaders is that stores of TiKV lead no regions, as long as they are evicted.
func NoLeaders(members ...string) Goal {
	return Goal{text: "no leaders on " + strings.Join(members, ", "), endless: true, lacks: func(s Sight) (topology.Kind, string) {
		for _, name := range members {
			if lacks := leadersOn(s, name); lacks != "" {
				return topology.TiKV, named(members, name, lacks)
			}
		}
		return "", ""
	}}
}

// named puts a member's name before a text about that member, where there are several members.
func named(members []string, name, text string) string {
	if len(members) < 2 {
		return text
	}
	return name + ": " + text
}

func leadersOn(s Sight, member string) string {
	m, ok := s.Snapshot.Groups[topology.TiKV].Member(member)
	switch {
	case !ok:
		return member + " is not there"
	case m.Database.Presence == state.Unknown:
		return "unknown: PD does not answer"
	case !m.Database.Evicting:
		return "PD has no evict-leader scheduler for it"
	case m.Database.Leaders < 0:
		return "unknown: the store does not answer"
	case m.Database.Leaders > 0:
		return remedy.Count(m.Database.Leaders, "leader", "leaders") + " left"
	}
	return ""
}

// Schedulers is that PD has loaded its schedulers. After a change of PD's leader, PD may know no scheduler yet, and
// a new scheduler could be lost.
func Schedulers() Goal {
	return Goal{text: "PD's schedulers", endless: true, lacks: func(s Sight) (topology.Kind, string) {
		switch pd := s.Snapshot.PD; {
		case !pd.Known():
			return topology.PD, "unknown: PD does not answer"
		case pd.SchedulersUnknown:
			return topology.PD, "PD has not loaded them yet"
		}
		return "", ""
	}}
}

// Serving is that members serve, as far as they are still wanted.
func Serving(members ...string) Goal {
	return Goal{text: "serving: " + strings.Join(members, ", "), endless: true, lacks: func(s Sight) (topology.Kind, string) {
		for _, g := range s.Wanted.Groups {
			for _, m := range s.Snapshot.Groups[g.Kind].Members {
				if slices.Contains(members, m.Name) && g.Ordinals().Resized(g.Active()).Has(m.Ordinal) && !m.Up() {
					return g.Kind, fmt.Sprintf("%s: %s", m.Name, m.Trouble())
				}
			}
		}
		return "", ""
	}}
}

// hasVersion: the TidbCluster asks for the version, and all members of components that follow it serve with that.
// Components with a version of their own do not count.
func hasVersion(s Sight, version string) (topology.Kind, string) {
	tc := s.Wanted.Cluster.Source
	if tc.Spec.Version != version {
		return "", "spec.version is " + cmp.Or(tc.Spec.Version, "empty")
	}
	var own []topology.Kind
	for _, p := range intent.Pinned(tc) {
		own = append(own, p.Component)
	}
	for _, g := range s.Wanted.Groups {
		if g.Kind.OwnReleases() || slices.Contains(own, g.Kind) || g.Suspend {
			continue
		}
		got := s.Snapshot.Groups[g.Kind]
		var names []string
		there := 0
		for _, m := range got.Members {
			if !g.Has(m.Ordinal) {
				continue
			}
			there++
			if !m.Up() || got.Outdated(m) || g.Set.Drift != desired.None || m.ReportsOther(version) {
				names = append(names, m.Name)
			}
		}
		switch {
		case len(names) > 0:
			return g.Kind, fmt.Sprintf("these do not serve with %s yet: %s", version, strings.Join(names, ", "))
		case there < g.Size():
			return g.Kind, fmt.Sprintf("%d of %d members serve with %s", there, g.Size(), version)
		}
	}
	return "", ""
}

// hasReplicas: the spec asks for so many members, all of them serve, and no other one is there.
func hasReplicas(s Sight, k topology.Kind, n int) string {
	g, ok := s.Wanted.Group(k)
	switch {
	case !ok && n == 0:
		return ""
	case !ok:
		return fmt.Sprintf("the cluster has no %s", k)
	case g.Replicas != n:
		return fmt.Sprintf("spec.%s.replicas is %d", k, g.Replicas)
	}
	got := s.Snapshot.Groups[k]
	var leaving []string
	stay := g.Ordinals().Resized(g.Active())
	for _, m := range got.Members {
		if !stay.Has(m.Ordinal) && (m.Pod != nil || m.Database.Presence == state.Present) {
			leaving = append(leaving, m.Name)
		}
	}
	switch up := got.Up(); {
	case up < g.Active():
		return fmt.Sprintf("%d of %d members serve", up, g.Active())
	case len(leaving) > 0:
		return "these have not left yet: " + strings.Join(leaving, ", ")
	}
	return ""
}

// hasCondition: the condition of the TidbCluster is about its present spec; see intent.Load.
func hasCondition(s Sight, kind, status string) string {
	for _, c := range s.Wanted.Cluster.Source.Status.Conditions {
		switch {
		case !strings.EqualFold(string(c.Type), kind):
		case strings.EqualFold(string(c.Status), status):
			return ""
		default:
			return fmt.Sprintf("condition %s is %s (%s): %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return fmt.Sprintf("the TidbCluster has no condition %s", kind)
}

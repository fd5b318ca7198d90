package component

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// storesTogether: stores in one place may be down together where no region has two copies there, and the copies
// elsewhere are a quorum. PD must promise that, and the counts of PD must have shown it for a while.
var storesTogether = plan.Together{
	Domain: placeOf,
	Before: []plan.Hook{copiesApart, placesRead, placesSteady, regionsCounted, copiesWhole, roomForLeaders},
}

// serversTogether: servers without data may be down together as long as others serve the same clients.
var serversTogether = plan.Together{
	Domain: func(facts.Component, state.Member) string { return "all" },
	Most:   func(members int) int { return members / 2 },
}

const (
	// votersNeeded: with fewer copies, a region has no quorum while one is down.
	votersNeeded = 3
	// steadyLeast is how long labels of stores must have been the same at least.
	steadyLeast = time.Minute
	// passesNeeded is how many times PD must have gone through all regions with the same labels. The first pass may have
	// begun before they changed.
	passesNeeded = 2
	// countsShown is how long PD takes to show counts that it has.
	countsShown = 15 * time.Second
	// mostLoad is how many times the average of leaders a store may lead while a batch is down.
	mostLoad = 2
)

// placeOf returns where a store is, by PD's location labels down to PD's isolation level. It returns "" where PD promises
// nothing about that place, or the store lacks a label.
func placeOf(c facts.Component, m state.Member) string {
	var place []string
	for _, key := range c.All.PD.LocationLabels {
		value := labelOf(m.StoreLabels, key)
		if value == "" || m.Database.Presence != state.Present {
			return ""
		}
		place = append(place, key+"="+value)
		if key == c.All.PD.IsolationLevel {
			return strings.Join(place, ",")
		}
	}
	return ""
}

// labelOf returns the value of a label. PD does not distinguish keys that differ in case only.
func labelOf(labels map[string]string, key string) string {
	for k, v := range labels {
		if strings.EqualFold(k, key) {
			return v
		}
	}
	return ""
}

// copiesApart holds where PD itself keeps the copies of each region in different places.
var copiesApart = plan.Hook{
	Reason: plan.BatchSafe, Want: "PD keeps copies of a region apart",
	Because: "otherwise PD may put two copies of a region into one batch at any time",
	Refuse:  func(sc plan.Scope, _ state.Member) string { return notPromised(sc.All.PD) },
	Help: func(sc plan.Scope, _ state.Member) remedy.Remedy {
		return append(isolationHelp(sc), oneAtATime(sc)...)
	},
}

// notPromised returns why PD does not promise that no two copies of a region are in one place, "" where PD does. A rule
// counts its own copies only, so that copies of two rules may be in the same place.
func notPromised(pd state.PD) string {
	switch {
	case len(pd.LocationLabels) == 0:
		return "PD has no location-labels, so that nobody knows which stores are in one place"
	case pd.IsolationLevel == "":
		return "PD has no isolation-level, so that it may put two copies of a region into one place"
	case !slices.Contains(pd.LocationLabels, pd.IsolationLevel):
		return fmt.Sprintf("PD's isolation-level %s is none of its location-labels", pd.IsolationLevel)
	case pd.MaxReplicas < votersNeeded:
		return fmt.Sprintf("max-replicas is %d, and such regions have no quorum when one copy is down", pd.MaxReplicas)
	case pd.Placement.Unread != "" || pd.Isolation.Unread != "":
		return "" // the next condition waits for that
	case len(pd.Placement.Rules) == 0:
		return "PD has not returned its placement rules"
	}
	for _, rules := range pd.Placement.Rules {
		if why := rulesPromise(pd, rules); why != "" {
			return why
		}
	}
	return ""
}

// rulesPromise returns why the rules for some regions do not promise that.
func rulesPromise(pd state.PD, rules []state.PlacementRule) string {
	var voting []state.PlacementRule
	for _, r := range rules {
		if r.Role != "learner" {
			voting = append(voting, r)
		}
	}
	switch {
	case len(voting) == 0:
		return ""
	case len(voting) > 1:
		return fmt.Sprintf("placement rules %s and %s place copies of the same regions independently, so that both may use the same place", voting[0].Name(), voting[1].Name())
	case voting[0].Count < votersNeeded:
		return fmt.Sprintf("placement rule %s asks for %s, and such regions have no quorum when one copy is down", voting[0].Name(), remedy.Count(voting[0].Count, "copy", "copies"))
	case !keepsApart(pd, voting[0]):
		return fmt.Sprintf("placement rule %s does not keep copies apart by %s", voting[0].Name(), pd.IsolationLevel)
	}
	return ""
}

// keepsApart reports whether a rule keeps copies apart by PD's isolation level or a wider label. PD goes by the labels of
// the rule itself, so that these have to be the same as far as the level of the rule.
func keepsApart(pd state.PD, r state.PlacementRule) bool {
	n := slices.Index(pd.LocationLabels, r.IsolationLevel) + 1
	return n > 0 && state.IsWithin(pd.LocationLabels, r.IsolationLevel, pd.IsolationLevel) &&
		len(r.LocationLabels) >= n && slices.Equal(r.LocationLabels[:n], pd.LocationLabels[:n])
}

// placesRead holds when PD has answered what the later conditions need.
var placesRead = plan.Hook{
	Reason: plan.BatchSafe, Want: "places of copies known", Because: "without an answer of PD nobody knows where copies are",
	Done:     func(sc plan.Scope, _ state.Member) bool { return unread(sc) == "" },
	Observed: func(sc plan.Scope, _ state.Member) string { return unread(sc) },
	Help:     func(sc plan.Scope, _ state.Member) remedy.Remedy { return oneAtATime(sc) },
}

func unread(sc plan.Scope) string {
	pd := sc.All.PD
	for _, why := range []string{pd.Problem, pd.Placement.Unread, pd.Isolation.Unread} {
		if why != "" {
			return why
		}
	}
	return ""
}

// placesSteady holds when PD's counts are about the labels that stores have now. PD goes through its regions again and
// again, and a new leader of PD counts from the beginning.
var placesSteady = plan.Hook{
	Reason: plan.BatchSafe, Want: "PD has counted all regions with these labels",
	Because: "counts from before a change of labels or of PD's leader say nothing",
	Done: func(sc plan.Scope, _ state.Member) bool {
		return sc.All.PD.Isolation.Pass > 0 && !sc.All.At.Before(placesSince(sc).Add(passesTime(sc)))
	},
	Observed: func(plan.Scope, state.Member) string {
		return "PD has to count all regions with the present labels; a change of a label or of PD's leader starts this again"
	},
	Since: func(sc plan.Scope, _ state.Member) time.Time { return placesSince(sc) },
	Timeout: func(sc plan.Scope) (time.Duration, bool) {
		return passesTime(sc), sc.All.PD.Isolation.Pass > 0 // without a pass there is no end to wait for
	},
	Lapse: func(plan.Scope) plan.Lapse { return plan.Fail },
	Help:  func(sc plan.Scope, _ state.Member) remedy.Remedy { return oneAtATime(sc) },
}

// placesSince returns since when this process has observed the same labels and the same leader of PD.
func placesSince(sc plan.Scope) time.Time {
	return facts.Later(sc.All.PD.Isolation.LabelsSince, sc.All.PD.LeaderSince)
}

// passesTime returns how long PD takes to count all regions once more, and to show the new counts.
func passesTime(sc plan.Scope) time.Duration {
	return max(steadyLeast, passesNeeded*sc.All.PD.Isolation.Pass+countsShown)
}

// regionsCounted holds when PD's counts show that no region has two copies in one place. A few regions may not be
// counted yet, because regions split all the time. They have their copies where the region before the split has.
var regionsCounted = plan.Hook{
	Reason: plan.BatchSafe, Want: "no region with two copies in one place", Because: "such a region would have no quorum",
	Done: func(sc plan.Scope, _ state.Member) bool {
		at := sc.All.PD.Isolation
		return at.NotApart(sc.All.PD.LocationLabels, sc.All.PD.IsolationLevel) == 0 && at.Regions > 0 && 100*at.Counted() >= 99*at.Regions &&
			!sc.All.PD.Scheduling.Halted
	},
	Observed: func(sc plan.Scope, _ state.Member) string {
		pd := sc.All.PD
		n := pd.Isolation.NotApart(pd.LocationLabels, pd.IsolationLevel)
		switch {
		case pd.Scheduling.Halted:
			return "PD counts nothing while halt-scheduling is set"
		case n == 0:
			return fmt.Sprintf("PD has counted %d of %d regions", pd.Isolation.Counted(), pd.Isolation.Regions)
		}
		text := fmt.Sprintf("%d of %d regions have two copies in one %s", n, pd.Isolation.Regions, pd.IsolationLevel)
		if moving := pd.Isolation.Moving; moving > 0 {
			text += fmt.Sprintf(", and PD moves copies of %d regions", moving)
		}
		return text
	},
	// While PD moves a copy there are two for a moment, also where PD keeps copies apart.
	Left: func(sc plan.Scope, _ state.Member) plan.Quantity {
		pd := sc.All.PD
		n := max(pd.Isolation.NotApart(pd.LocationLabels, pd.IsolationLevel)-pd.Isolation.Moving, 0)
		return plan.Quantity{Number: int64(n), Unit: plan.Regions}
	},
	Patience: plan.Moving,
	Help:     func(sc plan.Scope, _ state.Member) remedy.Remedy { return oneAtATime(sc) },
}

// copiesWhole holds when each region has all of its copies, and none of them is behind. Once a member of the batch is
// down, its own copies are behind, so that only copies that are missing or that leave count then.
var copiesWhole = plan.Hook{
	Reason: plan.BatchSafe, Want: "all copies there and up to date", Because: "a region that lacks a copy would have no quorum without another one",
	Done: func(sc plan.Scope, m state.Member) bool { return unsound(sc, m) == "" },
	Observed: func(sc plan.Scope, m state.Member) string {
		return "PD reports regions that are not whole: " + unsound(sc, m)
	},
	Help: func(sc plan.Scope, _ state.Member) remedy.Remedy {
		return append(remedy.Remedy{remedy.Run("see which regions", sc.PDCtl("region check pending-peer"))}, oneAtATime(sc)...)
	},
}

// ownDowntime are the counts that a member which is down raises by itself.
var ownDowntime = []string{"pending-peer", "down-peer"}

// unsound lists the counts of regions that are not whole, "" where there are none.
func unsound(sc plan.Scope, m state.Member) string {
	begun := batchBegun(sc, m)
	var all []string
	for what, n := range sc.All.PD.Isolation.Unsound {
		own := begun && slices.Contains(ownDowntime, what)
		if n > 0 && !own {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func batchBegun(sc plan.Scope, m state.Member) bool {
	return slices.ContainsFunc(sc.BatchOf(m), func(o state.Member) bool { return !o.Up() })
}

// roomForLeaders holds where the stores elsewhere can take the leaders of the batch without one of them doing most of
// the work. While one of them does not serve, that store is waited for first.
var roomForLeaders = plan.Hook{
	Reason: plan.BatchSafe, Want: "room for leaders elsewhere", Because: "the stores elsewhere do the work of the batch",
	Refuse: func(sc plan.Scope, m state.Member) string {
		l := loadWithout(sc, m)
		switch {
		case l.down:
			return ""
		case l.takers == 0:
			return "no store in another place takes leaders"
		case l.moved/l.takers > mostLoad*l.leaders/l.stores:
			return fmt.Sprintf("the stores elsewhere would lead %d regions each on average; now the average is %d", l.moved/l.takers, l.leaders/l.stores)
		}
		return ""
	},
	Help: func(sc plan.Scope, _ state.Member) remedy.Remedy { return oneAtATime(sc) },
}

// load is how many regions stores lead.
type load struct {
	stores, leaders int // all stores that are up
	takers, moved   int // the stores elsewhere that take leaders, and their leaders plus those of the batch
	down            bool
}

// loadWithout returns what stores lead while the batch of a member is down.
func loadWithout(sc plan.Scope, m state.Member) load {
	var l load
	batch := sc.BatchOf(m)
	for o := range sc.Got.EachInSet() {
		n, in := max(o.Database.Leaders, 0), state.Has(batch, o)
		if o.Database.State != state.StoreUp {
			l.down = l.down || !in
			continue
		}
		l.stores, l.leaders = l.stores+1, l.leaders+n
		takes := !sc.SameDomain(o, m) && !o.Database.Evicting
		if takes {
			l.takers++
		}
		if in || takes {
			l.moved += n
		}
	}
	return l
}

// isolationHelp returns what has PD keep copies apart.
func isolationHelp(sc plan.Scope) remedy.Remedy {
	pd := sc.All.PD
	switch {
	case len(pd.LocationLabels) == 0:
		return remedy.Remedy{remedy.Run("have PD know the zones of stores", sc.PDCtl("config set location-labels zone"))}
	case pd.IsolationLevel == "":
		return remedy.Remedy{remedy.Run("have PD keep copies apart, for which it moves regions", sc.PDCtl("config set isolation-level "+pd.LocationLabels[0]))}
	}
	return remedy.Remedy{remedy.Run("see the placement rules", sc.PDCtl("config placement-rules show"))}
}

// oneAtATime returns what goes on without batches.
func oneAtATime(sc plan.Scope) remedy.Remedy {
	return remedy.Remedy{remedy.Run("go on with one member at a time", sc.Cluster.Plugin("sync"))}
}

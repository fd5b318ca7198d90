package component

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/scheduling"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

const (
	// removeEvictTimeout is short, since PD moves the leaders of a store that is taken offline in
	// any case. To evict them before only saves clients a short wait.
	removeEvictTimeout = 5 * time.Minute
	// manyLeaders is how many leaders a store must have had for clients to notice a while without
	// leaders. The number is tidb-operator's, and so are the time that leaders may take to come
	// back, and the share of them that has to.
	manyLeaders    = 200
	returnTimeout  = 400 * time.Second
	shareReturning = 2. / 3
)

// leadersEvicted holds before a restart. A process that does not run has no leaders to
// lose. A store whose heartbeats PD misses may still have all of its leaders.
var leadersEvicted = plan.Hook{
	Reason: plan.LeadersEvicted, Want: "leaders evicted",
	Refuse: func(sc plan.Scope, m state.Member) string {
		if why := leadersStranded(sc, m); why != "" {
			return why
		}
		return leadersKept(sc, m)
	},
	Help: func(sc plan.Scope, m state.Member) remedy.Remedy {
		if leadersStranded(sc, m) != "" {
			return remedy.Remedy{remedy.Run("see the schedulers", sc.PDCtl("scheduler config evict-leader-scheduler"))}
		}
		return restartHelp(sc, m)
	},
	Done:      nothingToEvict,
	Skip:      leadersBound,
	Schedules: true,
	Step:      evictOnce, Observed: evictionObserved, Left: leadersToMove, Since: evictingSince,
	Timeout: func(sc plan.Scope) (time.Duration, bool) { return evictTimeout(sc, sc.Want.EvictTimeout) },
	Lapse:   onRestartTimeout,
}

// leadersLeft is the same before a removal, with a shorter timeout. Leaders that cannot
// move by themselves move with their regions.
var leadersLeft = plan.Hook{
	Reason: plan.LeadersEvicted, Want: leadersEvicted.Want,
	Done: func(sc plan.Scope, m state.Member) bool {
		return !m.Up() || drained(m) || takers(sc, m) <= 0
	},
	Skip: func(sc plan.Scope, m state.Member) string {
		if why := leadersBound(sc, m); why != "" {
			return why
		}
		return stalled(sc, m).Text // they move with their regions
	},
	Schedules: true, Step: evict, Observed: leadersObserved, Left: leadersToMove, Since: evictingSince,
	Timeout: func(sc plan.Scope) (time.Duration, bool) { return evictTimeout(sc, new(removeEvictTimeout)) },
	Lapse:   onEvictTimeout,
	Help: func(sc plan.Scope, _ state.Member) remedy.Remedy {
		return remedy.Remedy{
			leadersCannotGo,
			remedy.Run("take the store offline with them", sc.Cluster.Plugin("sync", "--on-evict-timeout=proceed")),
		}
	},
}

var leadersCannotGo = remedy.Say("see where leaders cannot go: every region needs a replica on another store that is up")

// restartHelp returns what a person can do about leaders that do not leave a store that is to be
// restarted.
func restartHelp(sc plan.Scope, m state.Member) remedy.Remedy {
	cause := stalled(sc, m)
	help := cause.Help(sc.PDCtl)
	if cause.Text == "" {
		help = remedy.Remedy{leadersCannotGo, remedy.Run("see which leaders PD moves", sc.PDCtl("operator show leader"))}
	}
	with := "restart the store with them"
	if _, limited := evictTimeout(sc, sc.Want.EvictTimeout); !limited {
		if cause.Text == "" || cause.Passes {
			help = append(help, remedy.Run("wait for them without a limit", sc.Cluster.Plugin("sync", "--on-evict-timeout=wait")))
		}
		with += ", if none leaves for ten minutes more"
	}
	return append(help, remedy.Run(with, sc.Cluster.Plugin("sync", "--on-evict-timeout=proceed")))
}

// evictTimeout returns how long leaders may take to leave a store, if that is limited. A flag comes before what is
// usual.
func evictTimeout(sc plan.Scope, usual *time.Duration) (limit time.Duration, limited bool) {
	switch t := sc.Policy.Eviction.Timeout; {
	case t > 0:
		return t, true
	case usual != nil:
		return *usual, true
	}
	return 0, false
}

func onEvictTimeout(sc plan.Scope) plan.Lapse { return sc.Policy.Eviction.OnTimeout }

// takers counts the other stores that leaders may move to: those that are up and from
// which none are evicted. Of stores in other Kubernetes clusters PD returns only how many
// there are.
func takers(sc plan.Scope, m state.Member) int {
	return upStores(sc, func(o state.Member) bool { return o.Ordinal != m.Ordinal && !o.Database.Evicting })
}

// leadersStranded reports, with the reason, that evict-leader schedulers keep leaders off all other stores. Only a
// person knows why the schedulers were created. A wait would not help. A store without a scheduler that PD does not call
// Up takes leaders again when its next heartbeat comes, so that a wait helps there.
func leadersStranded(sc plan.Scope, m state.Member) string {
	others, evicted := sc.All.PD.Stores-1, 0
	for _, o := range sc.Got.Members {
		switch db := o.Database; {
		case o.Ordinal == m.Ordinal:
		case db.State == state.StoreOffline:
			others--
		case db.Evicting:
			evicted++
		}
	}
	if m.Database.Leaders == 0 || evicted == 0 || evicted < others {
		return ""
	}
	return "all other stores have evict-leader schedulers"
}

// leadersBound reports, with the reason, that leaders must stay where they are because no other
// replica could lead. PD's setting alone is no proof, since placement rules may ask for more, so
// the stores have to agree.
func leadersBound(sc plan.Scope, _ state.Member) string {
	pd := sc.All.PD
	switch {
	case pd.Stores < 2:
		return "there is no other store"
	case pd.MaxReplicas == 1 && !followers(sc):
		return "each region has one replica only"
	}
	return ""
}

// followers reports whether any store has replicas that do not lead.
func followers(sc plan.Scope) bool {
	for _, m := range sc.Got.Members {
		if d := m.Database; d.Evicting || d.Regions > d.Leaders {
			return true
		}
	}
	return false
}

// drained reports whether PD has a scheduler for the store, and the store has no leaders. The
// scheduler keeps leaders from coming back. Our own record is no evidence: PD may have lost the
// scheduler.
func drained(m state.Member) bool {
	return m.Database.Evicting && m.Database.Leaders == 0
}

// evict asks for a scheduler where PD has none. Where others have created the scheduler, or the
// record cannot be read, evict asks for a record. Without the time of its start the wait would have
// no end.
func evict(sc plan.Scope, m state.Member) step.Step {
	e, recorded := sc.All.OpenEviction(m.Database.ID)
	idle := sc.All.PD.Scheduling.NoBatch && scheduling.Ours(*sc.All) // the step has our own scheduler move leaders again
	if recorded && !e.Since.IsZero() && m.Database.Evicting && !idle {
		return nil
	}
	s := step.EvictLeaders{Member: m.Name, StoreID: m.Database.ID, Leaders: m.Database.Leaders}
	if m.Pod != nil {
		s.PodUID = m.Pod.UID
	}
	return s
}

func leadersObserved(_ plan.Scope, m state.Member) string {
	if m.Database.Leaders < 0 {
		return "the store does not report how many leaders are left"
	}
	return remedy.Count(m.Database.Leaders, "leader", "leaders") + " left"
}

// leadersToMove returns how many leaders must leave, no number while the store does not report it.
func leadersToMove(_ plan.Scope, m state.Member) plan.Quantity {
	if m.Database.Leaders < 0 {
		return plan.Quantity{}
	}
	return plan.Quantity{Number: int64(m.Database.Leaders), Unit: plan.Leaders}
}

// evictingSince is zero while PD has no scheduler. The record of a run that was interrupted long
// ago must not set the timeout of a new run.
func evictingSince(sc plan.Scope, m state.Member) time.Time {
	if !m.Database.Evicting {
		return time.Time{}
	}
	e, _ := sc.All.OpenEviction(m.Database.ID)
	return e.Since
}

// leadersAllowed ends an eviction once the store is up again.
var leadersAllowed = plan.Hook{
	Reason: plan.LeadersAllowed, Want: "leaders allowed",
	Done: func(sc plan.Scope, m state.Member) bool {
		_, ours := sc.All.OpenEviction(m.Database.ID)
		return !ours || !m.Up()
	},
	Schedules: true,
	Step: func(sc plan.Scope, m state.Member) step.Step {
		e, _ := sc.All.OpenEviction(m.Database.ID)
		return step.AllowLeaders{
			Member: m.Name, StoreID: m.Database.ID, Returning: e.Leaders >= manyLeaders && rolling(sc),
		}
	},
}

// leadersBack holds before the next restart: a store that was restarted before has most of its
// leaders again. Otherwise the stores that are not restarted yet would lead more and more regions,
// and the last store all regions.
var leadersBack = plan.Hook{
	Reason: plan.LeadersReturned, Want: "leaders of another store back",
	Done: func(sc plan.Scope, m state.Member) bool { _, _, open := returning(sc, m); return !open },
	Observed: func(sc plan.Scope, m state.Member) string {
		o, e, _ := returning(sc, m)
		return fmt.Sprintf("%s has %d of %d", o.Name, o.Database.Leaders, e.Leaders)
	},
	Since:   func(sc plan.Scope, m state.Member) time.Time { _, e, _ := returning(sc, m); return e.Ended },
	Timeout: func(plan.Scope) (time.Duration, bool) { return returnTimeout, true },
}

// returning returns another store whose leaders are coming back. Stores of the same failure domain do not count in a
// rollout in batches. The other domains lead its regions until the domain has been restarted.
func returning(sc plan.Scope, except state.Member) (state.Member, state.Eviction, bool) {
	ended := map[uint64]state.Eviction{}
	for _, e := range sc.All.Evictions {
		if _, is := ended[e.StoreID]; !is && !e.Ended.IsZero() {
			ended[e.StoreID] = e
		}
	}
	if len(ended) == 0 {
		return state.Member{}, state.Eviction{}, false
	}
	for m := range sc.Got.EachInSet() {
		e, is := ended[m.Database.ID]
		if is && m.Ordinal != except.Ordinal && !sc.SameDomain(m, except) && !leadersAreBack(sc, m, e) {
			return m, e, true
		}
	}
	return state.Member{}, state.Eviction{}, false
}

// leadersAreBack reports whether there are no more leaders to wait for. Either enough leaders are back, or
// the scheduler of another user keeps them away, or the time for their return is over.
func leadersAreBack(sc plan.Scope, m state.Member, e state.Eviction) bool {
	return e.Ended.IsZero() || m.Database.Evicting ||
		float64(m.Database.Leaders) >= shareReturning*float64(leadersBefore(sc, e)) ||
		sc.All.At.Sub(e.Ended) >= returnTimeout
}

// leadersBefore returns how many leaders a store had before its restart. In a rollout in batches a store leads more than
// usual while another failure domain is away, so that no more than the average counts.
func leadersBefore(sc plan.Scope, e state.Eviction) int {
	if sc.Batching == nil {
		return e.Leaders
	}
	all, stores := 0, 0
	for m := range sc.Got.EachInSet() {
		if m.Database.State == state.StoreUp {
			all, stores = all+max(m.Database.Leaders, 0), stores+1
		}
	}
	return min(e.Leaders, all/max(stores, 1))
}

// evictionForgotten deletes a record that waits for leaders, when the leaders are back. It also
// does when nothing is to be restarted that would have to wait for them.
var evictionForgotten = plan.Hook{
	Reason: plan.EvictionForgotten, Want: "eviction record deleted",
	Done: func(sc plan.Scope, m state.Member) bool {
		e, ours := sc.All.Eviction(m.Database.ID)
		return !ours || e.Ended.IsZero() || rolling(sc) && !leadersAreBack(sc, m, e)
	},
	Step: func(_ plan.Scope, m state.Member) step.Step {
		return step.ForgetRecord{Component: m.Kind, Member: m.Name, StoreID: m.Database.ID, Record: state.RecordEviction}
	},
}

// rolling reports whether there are members that this process is to restart.
func rolling(sc plan.Scope) bool {
	for m := range sc.Got.EachInSet() {
		if sc.IsToRestart(m) && !sc.LeftToUser(m) {
			return true
		}
	}
	return false
}

// evictionEnded is the same for a store that was removed.
var evictionEnded = plan.Hook{
	Reason: plan.LeadersAllowed, Want: "leaders allowed",
	Done: func(sc plan.Scope, m state.Member) bool {
		_, ours := sc.All.Eviction(m.Database.ID)
		return !ours
	},
	Schedules: true,
	Step:      allow,
}

func allow(_ plan.Scope, m state.Member) step.Step {
	return step.AllowLeaders{Member: m.Name, StoreID: m.Database.ID}
}

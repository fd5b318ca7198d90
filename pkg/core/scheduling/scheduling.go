// Package scheduling says what keeps PD from moving leaders or regions although it accepts the request.
//
// PD shows each of these causes. Without this check, an eviction that PD does not carry out is waited for until its
// time is over. The store then restarts with all of its leaders. The rules are here, in one place, so that a rollout, a
// removal, a maintenance, and the verb that evicts leaders ask the same.
package scheduling

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Cause is why PD does not do what it was asked for.
type Cause struct {
	Text string
	// Passes: it ends without a person, as an import does.
	Passes bool
	// fix is what a person can do: a sentence, and the arguments for pd-ctl.
	fix []advice
}

type advice struct{ text, words string }

// Help returns what a person can do about it. pdCtl makes a command of arguments for pd-ctl.
func (c Cause) Help(pdCtl func(words string) remedy.Command) remedy.Remedy {
	var all remedy.Remedy
	for _, a := range c.fix {
		if a.words == "" {
			all = append(all, remedy.Say(a.text))
			continue
		}
		all = append(all, remedy.Run(a.text, pdCtl(a.words)))
	}
	return all
}

const evictLeader = "evict-leader-scheduler"

// Leaders returns what keeps PD from evicting the leaders of a store. Limited says that this run has PD move a number
// of leaders at a time, which comes before PD's own limit. What only a person can end comes first.
func Leaders(s state.Snapshot, limited bool) (Cause, bool) {
	pd := s.PD.Scheduling
	switch {
	case pd.Halted:
		return halted("no leaders"), true
	case pd.NoLeaders && !limited:
		return Cause{
			Text: "PD moves no leaders, since its leader-schedule-limit is 0",
			fix:  []advice{{"have PD move leaders again, 4 at a time as by default", "config set leader-schedule-limit 4"}},
		}, true
	case pd.NoBatch && !Ours(s):
		return Cause{
			Text: fmt.Sprintf("PD's evict-leader scheduler, which another user or tool made, moves no leaders (batch 0), as one from before an upgrade to v8.5.0, v8.5.1 or v8.5.2 does; its stores are %s", numbers(pd.Evicting)),
			fix: []advice{
				{"have it move 3 leaders at a time, as by default", "scheduler config " + evictLeader + " set batch 3"},
				{"or remove it, if nobody needs it any more", "scheduler remove " + evictLeader},
			},
		}, true
	case pd.EvictionPaused:
		return Cause{
			Text: "PD's evict-leader scheduler is paused for a time", Passes: true,
			fix: []advice{{"end the pause", "scheduler resume " + evictLeader}},
		}, true
	case len(pd.Denied) > 0:
		return denied(pd.Denied), true
	}
	return Cause{}, false
}

func halted(what string) Cause {
	return Cause{
		Text: "PD moves " + what + ", since its scheduling is halted (halt-scheduling)",
		fix:  []advice{{"end that, if nobody repairs PD's data now", "config set halt-scheduling false"}},
	}
}

// denied is the cause of region labels. There is one for each table that is imported.
func denied(names []string) Cause {
	const shown = 3
	text, keep := "the region label "+names[0], "keeps"
	if len(names) > 1 {
		text, keep = "the region labels "+strings.Join(names[:min(len(names), shown)], ", "), "keep"
	}
	if more := len(names) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return Cause{
		Text:   text + " (schedule=deny) " + keep + " leaders where they are, as an import with TiDB Lightning or IMPORT INTO asks for",
		Passes: true,
		fix: []advice{
			{"wait until the import has ended", ""},
			{"if no import runs, remove the label through PD's API (DELETE /pd/api/v1/config/region-label/rule/" + url.PathEscape(names[0]) + ")", ""},
		},
	}
}

// Ours reports whether all stores of the evict-leader scheduler are there because of us, so that it may be changed.
func Ours(s state.Snapshot) bool {
	return len(s.PD.Scheduling.Evicting) > 0 && !slices.ContainsFunc(s.PD.Scheduling.Evicting, func(id uint64) bool {
		e, known := s.Eviction(id)
		return !known || e.Foreign || !e.Ended.IsZero()
	})
}

// Regions returns what keeps PD from moving the regions of a store that leaves to others. All are the stores that may
// take them, the store itself excepted; without any it is not known which there are.
func Regions(pd state.PD, store uint64, all []state.Store) (Cause, bool) {
	s := pd.Scheduling
	switch {
	case s.Halted:
		return halted("no regions"), true
	case s.NoReplicas:
		return Cause{
			Text: "PD moves no regions, since its replica-schedule-limit is 0",
			fix:  []advice{{"have PD move regions again, 64 at a time as by default", "config set replica-schedule-limit 64"}},
		}, true
	case s.KeepsOffline && pd.RulesDisabled:
		return Cause{
			Text: "PD leaves regions on stores that are offline, since its enable-replace-offline-replica is false",
			fix:  []advice{{"have PD move them", "config set enable-replace-offline-replica true"}},
		}, true
	case slices.Contains(s.NoRemoving, store):
		return Cause{
			Text: fmt.Sprintf("PD takes no regions off store %d, since its limit remove-peer is 0", store),
			fix:  []advice{{"have PD take 15 a minute, as by default", fmt.Sprintf("store limit %d 15 remove-peer", store)}},
		}, true
	}
	takes := func(o state.Store) bool {
		return o.ID != store && o.State != state.StoreOffline && o.State != state.StoreTombstone && !slices.Contains(s.NoAdding, o.ID)
	}
	if len(all) > 1 && len(s.NoAdding) > 0 && !slices.ContainsFunc(all, takes) {
		return Cause{
			Text: "PD puts no regions onto any other store, since the limits add-peer of the others are 0",
			fix:  []advice{{"have PD put 15 a minute onto each store, as by default", "store limit all 15 add-peer"}},
		}, true
	}
	if full, none := nearlyFull(pd, store, all); none {
		return Cause{Text: "PD puts no regions onto any other store, since their disks are nearly full (stores " + numbers(full) + ")"}, true
	}
	return Cause{}, false
}

// Balance returns what keeps PD from giving a store that is new its share of the regions of the others.
func Balance(pd state.PD, store state.Store) (Cause, bool) {
	s, id := pd.Scheduling, store.ID
	switch {
	case s.Halted:
		return halted("no regions"), true
	case s.NoBalance:
		return Cause{
			Text: "PD balances no regions, since its region-schedule-limit is 0",
			fix:  []advice{{"have PD balance regions again, 2048 at a time as by default", "config set region-schedule-limit 2048"}},
		}, true
	case s.NoBalancer:
		return Cause{
			Text: "PD balances no regions, since it has no " + balanceRegion + ", or it is disabled",
			fix:  []advice{{"have PD balance regions again", "scheduler add " + balanceRegion}},
		}, true
	case slices.Contains(s.NoAdding, id):
		return Cause{
			Text: fmt.Sprintf("PD puts no regions onto store %d, since its limit add-peer is 0", id),
			fix:  []advice{{"have PD put 15 a minute onto it, as by default", fmt.Sprintf("store limit %d 15 add-peer", id)}},
		}, true
	case pd.LowSpace(store):
		return Cause{
			Text: fmt.Sprintf("PD puts no regions onto store %d, since its disk is nearly full", id),
			fix:  []advice{{"make its volume larger", ""}},
		}, true
	case s.BalancerPaused:
		return Cause{
			Text: "PD's " + balanceRegion + " is paused for a time", Passes: true,
			fix: []advice{{"end the pause", "scheduler resume " + balanceRegion}},
		}, true
	}
	return Cause{}, false
}

const balanceRegion = "balance-region-scheduler"

// Forget returns how a person has PD forget what only the memory of its leader has: another member leads. Others are
// the pods of those that could.
func Forget(c topology.Cluster, leader string, others []string) remedy.Remedy {
	if len(others) == 0 {
		return remedy.Remedy{remedy.Run("restart it, so that it forgets that", c.Plugin("restart", leader))}
	}
	return remedy.Remedy{remedy.Run("have another member lead PD, which does not believe that", c.Plugin("transfer-leader", others[0]))}
}

func numbers(ids []uint64) string {
	var all []string
	for _, id := range ids {
		all = append(all, fmt.Sprint(id))
	}
	return strings.Join(all, ", ")
}

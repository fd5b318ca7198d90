package component

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TSO's members give the timestamps of transactions, and keep no data. One of them, the primary, does the work. All
// transactions wait while there is no primary, for example until the lease of one that has ended is over.
func TSO() plan.Profile { return service(topology.TSO, primaryMoved(tsoGroup)) }

// Scheduling's members move regions and leaders for PD, and keep no data. One of them, the primary, does the work.
func Scheduling() plan.Profile { return service(topology.Scheduling, primaryMoved(0)) }

// tsoGroup is how many members of TSO PD lets give timestamps. Of more members PD chooses so many, does not say here which,
// and refuses to make another member the primary.
const tsoGroup = 2

func service(k topology.Kind, moved plan.Hook) plan.Profile {
	return plan.Profile{
		Kind:          k,
		Needs:         []plan.Need{pdServes, pdUpgraded},
		BeforeRestart: []plan.Hook{moved},
		BeforeRemove:  []plan.Hook{moved, plan.LeftoverMarked},
	}
}

// transferVersion is the first release in which the primary of a service can be moved.
const transferVersion = "v8.3.0"

// primaryMoved is the goal that another member is the primary. Most is how many members can be the primary, 0 for all. With a version that cannot move it, with more members than
// can be the primary, and while PD knows no primary, nothing is moved. The members elect another primary when the lease of
// the old one is over.
func primaryMoved(most int) plan.Hook {
	return plan.Hook{
		Reason: plan.PrimaryMoved, Want: "another member the primary",
		Done: func(_ plan.Scope, m state.Member) bool { return !m.Database.Primary },
		Skip: func(sc plan.Scope, m state.Member) string {
			to, ok := ownSuccessor(sc, m)
			switch old, err := topology.IsDowngrade(transferVersion, m.Version()); {
			case err == nil && old:
				return "PD " + m.Version() + " cannot move it"
			case most > 0 && sc.Got.Set.Replicas > most:
				return fmt.Sprintf("PD lets %d of %d members be the primary", most, sc.Got.Set.Replicas)
			case !ok:
				return "no other member serves"
			case m.Database.Primary && to.Database.Name == "":
				return "PD does not name " + to.Name
			}
			return ""
		},
		Step: func(sc plan.Scope, m state.Member) step.Step {
			to, ok := ownSuccessor(sc, m)
			if !ok || !m.Database.Primary {
				return nil
			}
			return step.MovePrimary{Component: m.Kind, From: m.Name, To: to.Name, ToName: to.Database.Name}
		},
		Observed: func(_ plan.Scope, m state.Member) string { return m.Name + " is the primary" },
	}
}

// tsoServes is what a component needs that reads timestamps, where PD leaves them to its service.
var tsoServes = plan.Need{
	Reason: plan.TSOServing, Want: "TSO serving",
	Holds: func(sc plan.Scope) bool {
		tso, has := sc.All.Groups[topology.TSO]
		if !has {
			return true
		}
		for _, m := range tso.InSet() {
			// PD lists no members before the first store has joined. Until then, a member that is Ready will do.
			if m.Up() || m.Unknown() {
				return true
			}
		}
		return false
	},
	Observed: func(sc plan.Scope) string {
		tso := sc.All.Groups[topology.TSO]
		return fmt.Sprintf("%d of %d members up", tso.Up(), tso.Set.Replicas)
	},
}

package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// reclaim deletes the claims of members that were removed, with their volumes, where the user asks
// for that. It comes last, when there is nothing else to do or to wait for. To keep data a little
// longer costs almost nothing. In a cluster that has converged it is certain which member a claim
// belongs to.
func reclaim(decisions []decision, w desired.State, s state.Snapshot) verdict {
	var v verdict
	if !w.Cluster.Reclaims || !s.PD.Known() {
		return v
	}
	for _, d := range decisions {
		if d.Want.Kind.Data() == topology.Store && !d.All.PD.Bootstrapped {
			v.gates = append(v.gates, d.storesNotListed()...)
			continue
		}
		for _, m := range d.Got.Members {
			for _, c := range m.Claims {
				if c.Marked && !c.Terminating && d.CanBeReclaimed(m) {
					v.steps = append(v.steps, step.DeleteClaim{
						Component: m.Kind, Member: m.Name, Name: c.Name, UID: c.UID, Reclaim: true,
					})
				}
			}
		}
	}
	return v
}

// storesNotListed waits until PD lists its stores again after an election, where a
// removed store has left a claim. Claims that are not marked show that PD has had stores:
// while these are suspended, nothing else waits for PD.
func (sc Scope) storesNotListed() []Gate {
	left, stores := false, false
	for _, m := range sc.Got.Members {
		left = left || m.Marked() && !sc.Kept(m)
		stores = stores || len(m.Claims) > len(m.MarkedClaims())
	}
	if !left || !stores || !sc.Want.Suspend {
		return nil
	}
	return []Gate{{Component: sc.Want.Kind, Reason: StoresListed, Want: "PD lists its stores", Source: FromDatabase}}
}

package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
)

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"

// reclaim gives up the claims of members that were removed, with their volumes,
// where the user asks for that. It is the last thing to do, when nothing else is
// left to do or to wait for: data that is kept a little longer costs next to
// nothing, and a cluster at rest is one whose members can be told apart for sure.
func reclaim(profiles []Profile, w desired.State, scopes []Scope) verdict {
	var v verdict
	if !w.Cluster.Reclaims || len(scopes) == 0 || !scopes[0].All.PD.Known() {
		return v
	}
	for _, sc := range scopes {
		p := profileOf(profiles, sc.Want.Kind)
		if p.Kind.Data() == topology.Store && !sc.All.PD.Bootstrapped {
			v.gates = append(v.gates, sc.storesNotListed(p)...)
			continue
		}
		for _, m := range sc.Got.Members {
			for _, c := range m.Claims {
				if c.Marked && !c.Terminating && sc.abandoned(p, m) {
					v.steps = append(v.steps, DeleteClaim{
						Component: m.Kind, Member: m.Name, Name: c.Name, UID: c.UID, Reclaim: true,
					})
				}
			}
		}
	}
	return v
}

// storesNotListed waits for PD to speak of its stores again after an election, where one
// has left a claim. Claims that are not marked tell that PD has had some: while
// they are suspended nobody else waits for it.
func (sc Scope) storesNotListed(p Profile) []Gate {
	left, stores := false, false
	for _, m := range sc.Got.Members {
		left = left || m.Marked() && !sc.Kept(m)
		stores = stores || len(m.Claims) > len(markedClaims(m))
	}
	if !left || !stores || !sc.Want.Suspend {
		return nil
	}
	return []Gate{{Component: p.Kind, Reason: StoresListed, Want: "PD lists its stores", Source: FromDatabase}}
}

// abandoned: nobody wants the member, nothing of it runs, and the database has
// let go of it for good. The mark alone is no proof: it outlives a scale-in that
// was called off, until the member serves again.
func (sc Scope) abandoned(p Profile, m state.Member) bool {
	if sc.Kept(m) || m.Pod != nil {
		return false
	}
	return p.Kind.Data() == topology.None || m.Database.Presence == state.Absent || m.Database.State == state.StoreTombstone
}

package finding

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// full is the share of a disk below which TiKV refuses writes. Its storage.reserve-space is 5 % of the disk at least,
// unless that is 0.
const full = 0.05

// Room returns findings about the disks of stores, which a user needs before stores restart one after another. Each
// rule gives at most one finding for each component.
func Room(w desired.State, s state.Snapshot) []Finding {
	var all []Finding
	for _, g := range w.Groups {
		for _, r := range room {
			var seen []string
			last := Finding{}
			for _, f := range r.find(Look{Wanted: w, Snapshot: s}) {
				if f.Component == g.Kind {
					last, seen = f, append(seen, f.Member+": "+f.Seen)
				}
			}
			if len(seen) > 0 {
				all = append(all, Finding{ID: r.id, Severity: r.severity, Component: g.Kind, Seen: some(seen), Matters: r.matters, Remedy: last.Remedy})
			}
		}
	}
	return all
}

func storesFull(l Look) []Finding {
	return l.storesLackingRoom(func(_ state.Member, share float64) bool { return share < full })
}

func storesNearlyFull(l Look) []Finding {
	return l.storesLackingRoom(func(m state.Member, share float64) bool {
		return share >= full && m.Database.State != state.StoreOffline && l.Snapshot.PD.LowSpace(m.Store())
	})
}

// storesLackingRoom returns the stores of which too little is free. What PD knows about a store is as old as
// its last heartbeat.
func (l Look) storesLackingRoom(found func(m state.Member, share float64) bool) []Finding {
	var all []Finding
	l.members(func(g desired.Group, _ state.Group, m state.Member) {
		d := m.Database
		if !isStore(m) || d.State == state.StoreTombstone || d.Capacity <= 0 {
			return
		}
		if share := float64(d.Available) / float64(d.Capacity); found(m, share) {
			all = append(all, Finding{
				Component: g.Kind, Member: m.Name, Remedy: l.room(g),
				Seen: fmt.Sprintf("%.1f%% of the disk of store %d is free, %s of %s", 100*share, d.ID, gibibytes(d.Available), gibibytes(d.Capacity)),
			})
		}
	})
	return all
}

// room says how stores get more space.
func (l Look) room(g desired.Group) remedy.Remedy {
	return append(l.grow(g.Kind, g.Size()+1), remedy.Run("make their volumes larger", l.Wanted.Cluster.Plugin("edit")))
}

func gibibytes(s topology.Size) string { return fmt.Sprintf("%.1fGi", float64(s)/(1<<30)) }

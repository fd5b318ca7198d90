package finding

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/scheduling"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// leadersKept finds what keeps PD from evicting leaders.
func leadersKept(l Look) []Finding {
	cause, stalls := scheduling.Leaders(l.Snapshot, false)
	if !stalls || !l.Snapshot.PD.Known() {
		return nil
	}
	return []Finding{{Component: topology.TiKV, Seen: cause.Text, Remedy: cause.Help(l.pdCtl)}}
}

// regionsKept finds what keeps PD from moving regions, for any store.
func regionsKept(l Look) []Finding {
	pd := l.Snapshot.PD
	if !pd.Known() {
		return nil
	}
	if cause, stalls := scheduling.Regions(pd, 0, nil); stalls {
		return []Finding{{Component: topology.TiKV, Seen: cause.Text, Remedy: cause.Help(l.pdCtl)}}
	}
	var all []Finding
	for _, m := range l.Snapshot.Groups[topology.TiKV].Members {
		if cause, stalls := scheduling.Regions(pd, m.Database.ID, nil); stalls && m.Database.ID != 0 {
			all = append(all, Finding{Component: m.Kind, Member: m.Name, Seen: cause.Text, Remedy: cause.Help(l.pdCtl)})
		}
	}
	return all
}

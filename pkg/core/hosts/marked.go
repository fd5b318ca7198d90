package hosts

import (
	"cmp"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Marked returns the hosts that clusters are marked with, by their names. It is for hosts whose Node was deleted,
// or made again. The record is lost with the Node, except for the members. The marks would hold restarts, and the
// schedulers keep leaders off stores, for ever.
func Marked(clusters []topology.Cluster) []Host {
	var all []Host
	for _, c := range clusters {
		for _, m := range c.Maintained {
			i := slices.IndexFunc(all, func(h Host) bool { return h.Name == m.Node })
			if i < 0 {
				i, all = len(all), append(all, Host{Name: m.Node, Marked: true, Record: &Record{Since: m.Since, By: m.By}})
			}
			*all[i].Record = all[i].Record.set(Cluster{Namespace: c.Namespace, Name: c.Name, UID: uid(c), Evicting: m.Evicting})
		}
	}
	slices.SortFunc(all, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// mark returns the mark of a cluster for the host.
func (h Host) mark(c topology.Cluster) (topology.Maintenance, bool) {
	i := slices.IndexFunc(c.Maintained, func(m topology.Maintenance) bool { return m.Node == h.Name })
	if i < 0 {
		return topology.Maintenance{Node: h.Name}, false
	}
	return c.Maintained[i], true
}

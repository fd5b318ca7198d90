package drive

import (
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// cramped returns warnings about stores with too little space on their disks, where stores are to
// run another version. Nothing is refused for that: the upgrade may be what helps.
func cramped(w desired.State, snap state.Snapshot) []warning {
	if !upgradesStores(w, snap) {
		return nil
	}
	var all []warning
	for _, f := range finding.Room(w, snap) {
		text := f.Component.Title() + ": " + f.Seen + ": " + strings.TrimSuffix(f.Matters, ".")
		all = append(all, warning{text: text, remedy: f.Remedy})
	}
	return all
}

// upgradesStores reports whether a pod of a store has another version than is wanted.
func upgradesStores(w desired.State, snap state.Snapshot) bool {
	for _, g := range w.Groups {
		other := func(m state.Member) bool {
			v := m.Version()
			return m.Pod != nil && v != "" && !topology.SameRelease(v, g.Version)
		}
		if g.Kind.Data() == topology.Store && slices.ContainsFunc(snap.Groups[g.Kind].BelowReplicas(), other) {
			return true
		}
	}
	return false
}

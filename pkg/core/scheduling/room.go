package scheduling

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// Full says which disks are nearly full of the stores that could else take regions of a store. It is "" where there is
// none.
func Full(pd state.PD, store uint64, all []state.Store) string {
	full, _ := nearlyFull(pd, store, all)
	switch len(full) {
	case 0:
		return ""
	case 1:
		return "PD puts none of them onto store " + numbers(full) + ", since its disk is nearly full"
	}
	return "PD puts none of them onto stores " + numbers(full) + ", since their disks are nearly full"
}

// NoRoom reports whether PD puts the regions of a store onto no other store, because all disks are nearly full.
func NoRoom(pd state.PD, store uint64, all []state.Store) bool {
	_, none := nearlyFull(pd, store, all)
	return none
}

// nearlyFull returns the stores whose disks are nearly full, of those that could else take regions of a store, and
// reports whether these are all. All are the stores that exist, the store itself among them.
func nearlyFull(pd state.PD, store uint64, all []state.Store) (full []uint64, none bool) {
	leaves := slices.IndexFunc(all, func(s state.Store) bool { return s.ID == store })
	if leaves < 0 {
		return nil, false
	}
	others := 0
	for _, o := range all {
		gone := o.State == state.StoreOffline || o.State == state.StoreTombstone
		if o.ID == store || gone || o.Labels["engine"] != all[leaves].Labels["engine"] {
			continue
		}
		if others++; pd.LowSpace(o) {
			full = append(full, o.ID)
		}
	}
	return full, others > 0 && len(full) == others
}

package placement

import (
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// Together returns how many copies of one region PD may put on some of all stores. PD puts copies into
// different locations where there are as many locations as copies. A location has the values of all
// location labels: stores of one host with the same labels have one location. With too few locations,
// or where a label is missing, PD may put a copy on each of these stores. All copies are then lost with
// a host that has these stores.
func Together(some, all []state.Store, pd state.PD) int {
	most := min(len(some), pd.MaxReplicas)
	if len(pd.LocationLabels) == 0 {
		return most
	}
	places := locations(all, pd.LocationLabels)
	if places[""] || len(places) < pd.MaxReplicas {
		return most
	}
	return min(len(locations(some, pd.LocationLabels)), most)
}

// locations returns the locations of stores, "" among them where a store lacks a label.
func locations(stores []state.Store, keys []string) map[string]bool {
	all := map[string]bool{}
	for _, s := range stores {
		values := make([]string, len(keys))
		missing := false
		for i, key := range keys {
			values[i] = label(s, key)
			missing = missing || values[i] == ""
		}
		if missing {
			values = nil
		}
		all[strings.Join(values, "/")] = true
	}
	return all
}

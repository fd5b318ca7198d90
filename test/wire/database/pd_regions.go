package database

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

func (d *Database) getRegionCount(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, object{"count": d.model.RegionCount(), "regions": nil})
}

// metrics answers with the page of a member of PD. Members other than the leader have counted nothing. They show zero
// where PD makes a gauge at its start, and nothing where the leader makes the gauge when it counts.
func (d *Database) metrics(w http.ResponseWriter, leads bool) {
	var counted sim.Isolation
	if leads {
		counted = d.model.Isolation()
	}
	var page strings.Builder
	gauge := func(name, help string) {
		fmt.Fprintf(&page, "# HELP %[1]s %[2]s\n# TYPE %[1]s gauge\n", name, help)
	}
	gauge("pd_checker_patrol_regions_time", "Time spent of patrol checks region.")
	fmt.Fprintf(&page, "pd_checker_patrol_regions_time %v\n", counted.Pass.Seconds())
	if len(counted.Apart) > 0 {
		gauge("pd_regions_label_level", "Number of regions in the different label level.")
	}
	for _, label := range slices.Sorted(maps.Keys(counted.Apart)) {
		fmt.Fprintf(&page, "pd_regions_label_level{type=%q} %d\n", label, counted.Apart[label])
	}
	gauge("pd_regions_status", "Status of the regions.")
	for _, status := range []struct {
		kind string
		n    int
	}{
		{"down-peer", counted.Down}, {"empty", 0}, {"extra-peer", 0}, {"miss-peer", counted.Missing},
		{"offline-peer", counted.Offline}, {"pending-peer", counted.Pending},
	} {
		fmt.Fprintf(&page, "pd_regions_status{type=\"%s-region-count\"} %d\n", status.kind, status.n)
	}
	text(w, http.StatusOK, page.String())
}

package database

import (
	"fmt"
	"net/http"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// tikvRoutes are what the status port of a TiKV answers.
func (d *Database) tikvRoutes() routes {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		leaders, regions := d.model.OwnCounts(topology.TiKV, ordinalOf(r))
		const name = "tikv_raftstore_region_count"
		text(w, http.StatusOK, fmt.Sprintf("# HELP %[1]s Number of regions collected in region_collector\n# TYPE %[1]s gauge\n"+
			"%[1]s{type=\"buckets\"} 0\n%[1]s{type=\"leader\"} %[2]d\n%[1]s{type=\"region\"} %[3]d\n", name, leaders, regions))
	})
	mux.HandleFunc("GET /config", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, object{"log": object{"level": "info"}})
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return mux
}

// tiflashRoutes are what the status port of a TiFlash answers.
func (d *Database) tiflashRoutes() routes {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tiflash/store-status", func(w http.ResponseWriter, r *http.Request) {
		is := "Idle"
		if d.model.PortOf(topology.TiFlash, ordinalOf(r)) == sim.PortServing {
			is = "Running"
		}
		text(w, http.StatusOK, is)
	})
	return mux
}

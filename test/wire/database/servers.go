package database

import (
	"fmt"
	"net/http"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// serves reports whether the process that is asked serves.
func (d *Database) serves(k topology.Kind, r *http.Request) bool {
	return d.model.PortOf(k, ordinalOf(r)) == sim.PortServing
}

// tidbRoutes are what the status port of a TiDB answers.
func (d *Database) tidbRoutes() routes {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		if !d.serves(topology.TiDB, r) {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		release := d.contained(d.model.ReleaseOf(topology.TiDB, ordinalOf(r)))
		answer(w, http.StatusOK, object{"connections": 0, "version": "8.0.11-TiDB-" + release, "git_hash": "None"})
	})
	mux.HandleFunc("GET /config", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, object{"log": object{"level": "info"}})
	})
	mux.HandleFunc("GET /db-table/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != "1" {
			text(w, http.StatusBadRequest, fmt.Sprintf("[schema:1146]Table which ID = %s does not exist.", r.PathValue("id")))
			return
		}
		name := func(s string) object { return object{"O": s, "L": s} }
		answer(w, http.StatusOK, object{"db_info": object{"id": 2, "db_name": name("a")}, "table_info": object{"id": 1, "name": name("b")}})
	})
	mux.HandleFunc("POST /upgrade/{what}", d.upgrade)
	return mux
}

// upgrade answers requests about a pause of DDL statements for an upgrade. A version that knows none has no such path.
func (d *Database) upgrade(w http.ResponseWriter, r *http.Request) {
	const done = "success!"
	paused, known := d.model.DDLPaused()
	switch what := r.PathValue("what"); {
	case !known:
		http.NotFound(w, r)
	case !d.serves(topology.TiDB, r):
		answer(w, http.StatusInternalServerError, "context deadline exceeded")
	case what == "show" && paused:
		answer(w, http.StatusOK, object{"servers_num": 1, "owner_id": "1", "upgraded_percent": 0, "is_all_upgraded": false})
	case what == "show":
		answer(w, http.StatusOK, "The cluster state is normal.")
	case what == "start" && paused:
		answer(w, http.StatusOK, "It's a duplicated operation and the cluster is already in upgrading state.")
	case what == "start":
		started(w, d.model.PauseDDL())
	case what == "finish" && !paused:
		answer(w, http.StatusOK, "It's a duplicated operation and the cluster is already in normal state.")
	case what == "finish":
		d.model.ResumeDDL()
		answer(w, http.StatusOK, done)
	default:
		http.NotFound(w, r)
	}
}

// started answers a request to pause DDL statements.
func started(w http.ResponseWriter, is sim.DDLAnswer) {
	switch is {
	case sim.DDLDone:
		answer(w, http.StatusOK, "success!")
	case sim.DDLSilent:
		panic(http.ErrAbortHandler) // the connection ends without an answer
	default:
		text(w, http.StatusInternalServerError, "context deadline exceeded")
	}
}

// tiproxyRoutes are what the port of a TiProxy's API answers.
func (d *Database) tiproxyRoutes() routes {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/debug/health", func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusOK
		if !d.serves(topology.TiProxy, r) {
			code = http.StatusInternalServerError
		}
		answer(w, code, object{"config_checksum": 0})
	})
	return mux
}

// pumpRoutes are what the port of a Pump answers.
func (d *Database) pumpRoutes() routes {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /state/{node}/close", func(w http.ResponseWriter, r *http.Request) {
		i := ordinalOf(r)
		switch {
		case !d.serves(topology.Pump, r):
			w.WriteHeader(http.StatusInternalServerError)
		case r.PathValue("node") != d.pumpNode(i):
			answer(w, http.StatusOK, object{"message": "nodeID " + r.PathValue("node") + " not match", "code": 404})
		case d.model.ClosePump(i):
			answer(w, http.StatusOK, object{"message": "this pump's state is closing", "code": 202})
		default:
			answer(w, http.StatusOK, object{"message": "apply action close success!", "code": 200})
		}
	})
	return mux
}

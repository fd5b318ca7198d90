package database

import (
	"fmt"
	"net/http"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// ticdcRoutes are what the port of a capture answers. All but its status is answered by the owner.
func (d *Database) ticdcRoutes() routes {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", d.getCapture)
	mux.HandleFunc("GET /api/v1/captures", d.byOwner(d.getCaptures))
	mux.HandleFunc("PUT /api/v1/captures/drain", d.byOwner(d.drainCapture))
	mux.HandleFunc("POST /api/v1/owner/resign", d.byOwner(func(w http.ResponseWriter, _ *http.Request) {
		d.model.ResignOwner()
		w.WriteHeader(http.StatusAccepted)
	}))
	mux.HandleFunc("GET /api/v2/changefeeds", d.byOwner(d.getChangefeeds))
	return mux
}

func (d *Database) captureHost(ordinal int) string {
	return fmt.Sprintf("%s:%d", d.cluster.PodHost(topology.TiCDC, ordinal), topology.TiCDCPort)
}

// getCapture is what a capture says of itself, which needs no owner.
func (d *Database) getCapture(w http.ResponseWriter, r *http.Request) {
	i := ordinalOf(r)
	if !d.serves(topology.TiCDC, r) {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	id, owner := d.model.OwnCapture(i), false
	all, _ := d.model.Captures()
	for _, c := range all {
		owner = owner || c.ID == id && c.Owner
	}
	answer(w, http.StatusOK, object{
		"version": d.model.ReleaseOf(topology.TiCDC, i), "git_hash": "None", "id": id, "pid": 1, "is_owner": owner, "liveness": 0,
	})
}

// byOwner answers with 404 where the version has no such request, and with 503 while there is no owner.
func (d *Database) byOwner(then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, answers := d.model.Captures()
		switch {
		case !d.model.CanDrain() && !d.EmptyDrains:
			text(w, http.StatusNotFound, "404 page not found")
		case !d.serves(topology.TiCDC, r):
			w.WriteHeader(http.StatusInternalServerError)
		case !answers:
			answer(w, http.StatusServiceUnavailable, object{"error_msg": "capture not initialized", "error_code": "CDC:ErrCaptureNotInitialized"})
		default:
			then(w, r)
		}
	}
}

func (d *Database) getCaptures(w http.ResponseWriter, _ *http.Request) {
	captures, _ := d.model.Captures()
	all := []object{}
	for _, c := range captures {
		all = append(all, object{"id": c.ID, "is_owner": c.Owner, "address": d.captureHost(c.Ordinal), "cluster_id": "default"})
	}
	answer(w, http.StatusOK, all)
}

func (d *Database) drainCapture(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		ID string `json:"capture_id"`
	}
	if !read(w, r, &asked) {
		return
	}
	if d.EmptyDrains {
		answer(w, http.StatusAccepted, object{"current_table_count": 0})
		return
	}
	left, ok := d.model.DrainTables(asked.ID)
	if !ok {
		answer(w, http.StatusBadRequest, object{"error_msg": "[CDC:ErrCaptureNotExist]capture not exists, " + asked.ID, "error_code": "CDC:ErrCaptureNotExist"})
		return
	}
	answer(w, http.StatusAccepted, object{"current_table_count": left})
}

func (d *Database) getChangefeeds(w http.ResponseWriter, _ *http.Request) {
	all := []object{}
	if d.model.Changefeeds() > 0 {
		all = append(all, object{"upstream_id": 1, "namespace": "default", "id": "feed", "state": "normal"})
	}
	answer(w, http.StatusOK, object{"total": len(all), "items": all})
}

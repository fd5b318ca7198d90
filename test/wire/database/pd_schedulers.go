package database

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	evictLeader     = "evict-leader-scheduler"
	noScheduler     = "[PD:scheduler:ErrSchedulerNotFound]scheduler not found"
	storeNotFound   = "[PD:core:ErrStoreNotFound]store %d not found"
	schedulerIsMade = "The scheduler is created."
)

// defaults are the schedulers that PD always has, by their types.
var defaults = []string{"balance-region", "balance-leader", "hot-region"}

// getSchedulers lists those that run: none before PD's leader has loaded them.
func (d *Database) getSchedulers(w http.ResponseWriter, r *http.Request) {
	evicts := len(d.model.Evicting()) > 0
	running := []string{}
	switch {
	case !d.model.SchedulersLoaded():
	case r.URL.Query().Get("status") == "paused":
		if evicts && d.model.Stalled().EvictionPaused {
			running = append(running, evictLeader)
		}
	default:
		running = append(running, "balance-region-scheduler", "balance-leader-scheduler", "balance-hot-region-scheduler")
		if evicts {
			running = append(running, evictLeader)
		}
	}
	answer(w, http.StatusOK, running)
}

func (d *Database) addScheduler(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Name  string `json:"name"`
		Store uint64 `json:"store_id"`
	}
	if !read(w, r, &asked) {
		return
	}
	if asked.Name != evictLeader {
		answer(w, http.StatusBadRequest, "unknown scheduler")
		return
	}
	if !d.hasStore(asked.Store) {
		answer(w, http.StatusInternalServerError, fmt.Sprintf(storeNotFound, asked.Store))
		return
	}
	if d.TransfersPaused {
		answer(w, http.StatusInternalServerError, fmt.Sprintf("[PD:core:ErrPauseLeaderTransfer]store %d is paused for leader transfer", asked.Store))
		return
	}
	d.model.EvictLeaders(asked.Store)
	answer(w, http.StatusOK, schedulerIsMade)
}

// hasStore reports whether PD has a store that is no tombstone.
func (d *Database) hasStore(id uint64) bool {
	stores, _ := d.model.Stores()
	for _, s := range stores {
		if s.ID == id {
			return s.State != "Tombstone"
		}
	}
	return false
}

// removeScheduler ends the eviction from one store, by the name of the scheduler with the store's id. PD has one
// scheduler for all stores, and says nothing where that scheduler does not know the store.
func (d *Database) removeScheduler(w http.ResponseWriter, r *http.Request) {
	text, ok := strings.CutPrefix(r.PathValue("name"), evictLeader+"-")
	id, err := strconv.ParseUint(text, 10, 64)
	switch stores := d.model.Evicting(); {
	case !ok || err != nil || !d.model.SchedulersLoaded() || len(stores) == 0:
		answer(w, http.StatusNotFound, noScheduler)
		return
	case !slices.Contains(stores, id):
		answer(w, http.StatusNotFound, nil)
		return
	}
	d.model.AllowLeaders(id)
	answer(w, http.StatusOK, "The scheduler is removed.")
}

func (d *Database) getEviction(w http.ResponseWriter, _ *http.Request) {
	stores := d.model.Evicting()
	if len(stores) == 0 || !d.model.SchedulersLoaded() {
		answer(w, http.StatusNotFound, noScheduler)
		return
	}
	ranges, batch := object{}, 3
	for _, id := range stores {
		ranges[strconv.FormatUint(id, 10)] = []object{{"start-key": "", "end-key": ""}}
	}
	if d.model.Stalled().NoBatch {
		batch = 0
	}
	answer(w, http.StatusOK, object{"store-id-ranges": ranges, "batch": batch})
}

// setEviction sets how many leaders leave at a time.
func (d *Database) setEviction(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Store uint64 `json:"store_id"`
		Batch int    `json:"batch"`
	}
	if !read(w, r, &asked) {
		return
	}
	if !slices.Contains(d.model.Evicting(), asked.Store) || !d.model.SchedulersLoaded() {
		answer(w, http.StatusNotFound, noScheduler)
		return
	}
	if asked.Batch > 0 {
		d.model.MoveLeadersAgain()
	}
	answer(w, http.StatusOK, "The scheduler has been applied to the store.")
}

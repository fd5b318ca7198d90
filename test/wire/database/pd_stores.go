package database

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tiflash"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tikv"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// numbers are PD's of the states that it stores.
var numbers = map[state.StoreState]pd.StoreState{
	state.StoreUp: pd.StoreUp, state.StoreOffline: pd.StoreOffline, state.StoreTombstone: pd.StoreTombstone,
}

// storeHost returns the host under which PD lists a store.
func (d *Database) storeHost(s sim.Store) string {
	switch {
	case s.Elsewhere:
		return fmt.Sprintf("other-tikv-%[1]d.other-tikv-peer.other.svc", s.ID)
	case s.Unlisted:
		return fmt.Sprintf("10.0.0.%d", s.ID)
	}
	return d.cluster.PodHost(s.Component, s.Ordinal)
}

// asStore returns a store as PD lists it.
func (d *Database) asStore(s sim.Store) object {
	peer, status := topology.TiKVServerPort, tikv.StatusPort
	if s.Component == topology.TiFlash {
		peer, status = topology.TiFlashServicePort, tiflash.StatusPort
	}
	own := maps.Clone(s.Labels)
	maps.Copy(own, d.labels[s.ID])
	labels := []object{}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		labels = append(labels, object{"key": key, "value": own[key]})
	}
	host := d.storeHost(s)
	store := object{
		"id": s.ID, "address": fmt.Sprintf("%s:%d", host, peer), "status_address": fmt.Sprintf("%s:%d", host, status),
		"version": strings.TrimPrefix(d.contained(s.Release), "v"), "state_name": string(s.Shown),
		"start_timestamp": s.Started.Unix(), "labels": labels,
	}
	if n := numbers[s.State]; n != pd.StoreUp {
		store["state"] = n // PD leaves the number 0 out
	}
	reported := object{
		"capacity": "100GiB", "available": "80GiB", "used_size": "20GiB", "leader_count": s.Leaders, "region_count": s.Regions,
		"start_ts": s.Started,
	}
	if s.Capacity > 0 {
		reported["capacity"], reported["available"] = gibibytes(s.Capacity), gibibytes(s.Available)
		reported["used_size"] = gibibytes(s.Capacity - s.Available)
	}
	if !s.Heartbeat.IsZero() {
		reported["last_heartbeat_ts"] = s.Heartbeat
		reported["uptime"] = s.Heartbeat.Sub(s.Started).String()
	}
	return object{"store": store, "status": reported}
}

// gibibytes is a size as PD writes it.
func gibibytes(s topology.Size) string { return fmt.Sprintf("%gGiB", float64(s)/(1<<30)) }

// getStores lists those in the states that are asked for, and all but tombstones where none is. A leader that has not
// loaded them lists none.
func (d *Database) getStores(w http.ResponseWriter, r *http.Request) {
	stores, loaded := d.model.Stores()
	if len(stores) == 0 {
		answer(w, http.StatusInternalServerError, notBootstrapped)
		return
	}
	states := r.URL.Query()["state"]
	all := []object{}
	for _, s := range stores {
		n := numbers[s.State]
		wanted := slices.Contains(states, strconv.Itoa(int(n))) || len(states) == 0 && n != pd.StoreTombstone
		if loaded && wanted {
			all = append(all, d.asStore(s))
		}
	}
	answer(w, http.StatusOK, object{"count": len(all), "stores": all})
}

// ofStore answers about one store.
func (d *Database) ofStore(then func(http.ResponseWriter, *http.Request, sim.Store)) http.HandlerFunc {
	return d.bootstrapped(func(w http.ResponseWriter, r *http.Request) {
		id, ok := idOf(w, r)
		if !ok {
			return
		}
		stores, _ := d.model.Stores()
		i := slices.IndexFunc(stores, func(s sim.Store) bool { return s.ID == id })
		if i < 0 {
			answer(w, http.StatusNotFound, fmt.Sprintf("[PD:core:ErrStoreNotFound]store %d not found", id))
			return
		}
		then(w, r, stores[i])
	})
}

func (d *Database) getStore(w http.ResponseWriter, _ *http.Request, s sim.Store) {
	answer(w, http.StatusOK, d.asStore(s))
}

func (d *Database) deleteStore(w http.ResponseWriter, _ *http.Request, s sim.Store) {
	if gone(w, s) {
		return
	}
	if err := d.model.TakeStoreOffline(s.ID); err != nil {
		answer(w, http.StatusBadRequest, "[PD:core:ErrStoresNotEnough]"+err.Error())
		return
	}
	answer(w, http.StatusOK, "The store is set as Offline.")
}

// gone answers with 410 for a tombstone.
func gone(w http.ResponseWriter, s sim.Store) bool {
	if s.State != state.StoreTombstone {
		return false
	}
	answer(w, http.StatusGone, fmt.Sprintf("[PD:core:ErrStoreRemoved]store %d has been removed", s.ID))
	return true
}

func (d *Database) setStoreState(w http.ResponseWriter, r *http.Request, s sim.Store) {
	switch to := r.URL.Query().Get("state"); {
	case gone(w, s):
		return
	case to == "Up":
		d.model.BringStoreUp(s.ID)
	case to == "Offline":
		d.deleteStore(w, r, s)
		return
	default:
		answer(w, http.StatusBadRequest, "invalid state "+to)
		return
	}
	answer(w, http.StatusOK, "The store's state is updated.")
}

func (d *Database) setStoreLabels(w http.ResponseWriter, r *http.Request, s sim.Store) {
	var labels map[string]string
	if !read(w, r, &labels) {
		return
	}
	if d.labels[s.ID] == nil {
		d.labels[s.ID] = map[string]string{}
	}
	if d.model.SetZone(s.ID, labels) {
		delete(labels, "zone") // where replicas are apart is up to the model
	}
	maps.Copy(d.labels[s.ID], labels)
	answer(w, http.StatusOK, "The store's label is updated.")
}

package database

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// schedule is PD's configuration of how it moves leaders and regions.
func (d *Database) schedule() object {
	stalled := d.model.Stalled()
	var schedulers []object
	for _, kind := range defaults {
		schedulers = append(schedulers, object{"type": kind, "args": nil, "disable": false, "args-payload": ""})
	}
	if len(d.model.Evicting()) > 0 {
		schedulers = append(schedulers, object{"type": "evict-leader", "args": []string{}, "disable": false, "args-payload": ""})
	}
	out := object{
		"max-store-down-time": "30m0s", "leader-schedule-limit": 4, "region-schedule-limit": 2048, "replica-schedule-limit": 64, "low-space-ratio": 0.8,
		"store-limit": object{}, "store-limit-version": "v1", "enable-replace-offline-replica": "true", "schedulers-v2": schedulers,
	}
	if stalled.Halted {
		out["halt-scheduling"] = "true"
	}
	if stalled.NoLeaders {
		out["leader-schedule-limit"] = 0
	}
	if stalled.NoReplicas {
		out["replica-schedule-limit"] = 0
	}
	if stalled.NoBalance {
		out["region-schedule-limit"] = 0
	}
	if stalled.KeepsOffline {
		out["enable-replace-offline-replica"] = "false"
	}
	return out
}

// replication is PD's configuration of where it places replicas.
func (d *Database) replication() object {
	own, _, enabled := d.model.PlacementRules()
	out := object{
		"max-replicas": d.model.MaxCopy, "location-labels": "", "isolation-level": "", "strictly-match-label": "false",
		"enable-placement-rules": strconv.FormatBool(enabled), "enable-placement-rules-cache": "false",
	}
	if r := own[0]; r.Configured && r.IsolationLevel != "" {
		out["location-labels"], out["isolation-level"] = r.LocationLabels[0], r.IsolationLevel
	}
	return out
}

func (d *Database) getSchedule(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, d.schedule())
}

func (d *Database) getReplicate(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, d.replication())
}

func (d *Database) getConfig(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, object{
		"schedule": d.schedule(), "replication": d.replication(), "cluster-version": d.clusterVersion(),
		"log": object{"level": "info"},
	})
}

// balance are the settings without which PD moves no regions for balance.
var balance = []string{"schedule.region-schedule-limit", "schedule.hot-region-schedule-limit", "schedule.merge-schedule-limit"}

// setConfig takes a limit of how many leaders are moved, for a while, and whether placement rules are enabled.
func (d *Database) setConfig(w http.ResponseWriter, r *http.Request) {
	var asked object
	if !read(w, r, &asked) {
		return
	}
	seconds, _ := strconv.ParseInt(r.URL.Query().Get("ttlSecond"), 10, 64)
	for key, value := range asked {
		n, number := value.(float64)
		switch {
		case key == "schedule.leader-schedule-limit" && number && seconds > 0:
			d.model.LimitMoves(int(n), seconds)
		case slices.Contains(balance, key) && number && n == 0 && seconds > 0:
			d.model.HoldRegions(seconds)
		case key == "replication.enable-placement-rules" && seconds == 0:
			d.model.EnablePlacementRules(fmt.Sprint(value) == "true")
		default:
			answer(w, http.StatusBadRequest, fmt.Sprintf("config item %s not found", key))
			return
		}
	}
	answer(w, http.StatusOK, "The config is updated.")
}

// setReplicate takes whether placement rules are enabled. The model has nothing else of this that changes.
func (d *Database) setReplicate(w http.ResponseWriter, r *http.Request) {
	var asked object
	if !read(w, r, &asked) {
		return
	}
	value, ok := asked["enable-placement-rules"]
	if !ok || len(asked) > 1 {
		answer(w, http.StatusBadRequest, "config item not found")
		return
	}
	if all, _ := d.model.Stores(); len(all) == 0 {
		answer(w, http.StatusBadRequest, notBootstrapped)
		return
	}
	d.model.EnablePlacementRules(fmt.Sprint(value) == "true")
	answer(w, http.StatusOK, "The config is updated.")
}

func (d *Database) getClusterVersion(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, d.clusterVersion())
}

// clusterVersion is the lowest version of all stores, 0.0.0 before there is one.
func (d *Database) clusterVersion() string {
	lowest := ""
	stores, _ := d.model.Stores()
	for _, s := range stores {
		if v := strings.TrimPrefix(d.contained(s.Release), "v"); s.State != state.StoreTombstone && (lowest == "" || v < lowest) {
			lowest = v
		}
	}
	return cmp.Or(lowest, "0.0.0")
}

// keys of the regions of the table that asks for replicas in TiFlash.
const tableStart, tableEnd = "7480000000000000ff015f720000000000fa", "7480000000000000ff020000000000000000f8"

// getRules returns placement rules with their groups, and refuses with 412 while rules are disabled.
func (d *Database) getRules(w http.ResponseWriter, _ *http.Request) {
	own, learners, enabled := d.model.PlacementRules()
	if !enabled {
		answer(w, http.StatusPreconditionFailed, "[PD:placement:ErrPlacementDisabled]placement rules feature is disabled")
		return
	}
	groups := []object{{"group_id": "pd", "group_index": 0, "group_override": false, "rules": asRules(own, "", "")}}
	if len(learners) > 0 {
		groups = append(groups, object{
			"group_id": "tiflash", "group_index": 120, "group_override": false, "rules": asRules(learners, tableStart, tableEnd),
		})
	}
	answer(w, http.StatusOK, groups)
}

func asRules(rules []state.PlacementRule, start, end string) []object {
	all := []object{}
	for _, r := range rules {
		one := object{
			"group_id": r.Group, "id": r.ID, "start_key": start, "end_key": end, "role": r.Role, "is_witness": false, "count": r.Count,
		}
		var constraints []object
		for _, c := range r.Constraints {
			constraints = append(constraints, object{"key": c.Key, "op": c.Op, "values": c.Values})
		}
		if constraints != nil {
			one["label_constraints"] = constraints
		}
		if r.LocationLabels != nil {
			one["location_labels"] = r.LocationLabels
		}
		if r.IsolationLevel != "" {
			one["isolation_level"] = r.IsolationLevel
		}
		all = append(all, one)
	}
	return all
}

// getRegionLabels returns the labels of regions, by which leaders stay where they are.
func (d *Database) getRegionLabels(w http.ResponseWriter, _ *http.Request) {
	all := []object{}
	for _, id := range d.model.Stalled().Denied {
		all = append(all, object{
			"id": id, "index": 0, "labels": []object{{"key": "schedule", "value": "deny"}}, "rule_type": "key-range",
			"data": []object{{"start_key": tableStart, "end_key": tableEnd}},
		})
	}
	answer(w, http.StatusOK, all)
}

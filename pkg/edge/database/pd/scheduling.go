package pd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Scheduling is what PD says of how it moves leaders and regions. A number is -1 where PD does not say it.
type Scheduling struct {
	// Evicting are the stores of the evict-leader scheduler, ascending, and Batch how many leaders it moves at a time.
	Evicting []uint64
	Batch    int
	// Paused: the evict-leader scheduler is paused.
	Paused bool
	// Halted is schedule.halt-scheduling.
	Halted bool
	// LeaderLimit and ReplicaLimit are schedule.leader-schedule-limit and schedule.replica-schedule-limit.
	LeaderLimit, ReplicaLimit int
	// RegionLimit is schedule.region-schedule-limit. With 0 PD moves no regions to balance its stores.
	RegionLimit int
	// NoBalancer: PD has no balance-region scheduler, or it is disabled.
	NoBalancer bool
	// Tolerance is schedule.tolerant-size-ratio: by how many regions of average size PD lets stores differ. It is 0 where
	// PD chooses the number itself, and -1 where PD does not say it.
	Tolerance int
	// LowSpaceRatio is schedule.low-space-ratio, 0 where PD does not say it.
	LowSpaceRatio float64
	// KeepsOffline: schedule.enable-replace-offline-replica is false.
	KeepsOffline bool
	// NoAdding and NoRemoving are the stores whose limits (schedule.store-limit) are 0, ascending.
	NoAdding, NoRemoving []uint64
}

// Scheduling implements Client.
func (c *client) Scheduling(ctx context.Context) (*Scheduling, error) {
	ctx, cancel := context.WithTimeout(ctx, c.budget)
	defer cancel()
	conf, scheduler, err := c.evictions(ctx)
	if err != nil {
		return nil, err
	}
	s := &Scheduling{
		Evicting: scheduler.stores, Batch: scheduler.batch,
		Halted:      isTrue(conf["halt-scheduling"]),
		LeaderLimit: numberOf(conf["leader-schedule-limit"]), ReplicaLimit: numberOf(conf["replica-schedule-limit"]),
		RegionLimit: numberOf(conf["region-schedule-limit"]), NoBalancer: conf["schedulers-v2"] != nil && !isEnabled(conf, "balance-region"),
		Tolerance:    numberOf(conf["tolerant-size-ratio"]),
		KeepsOffline: isFalse(conf["enable-replace-offline-replica"]),
	}
	s.LowSpaceRatio, _ = conf["low-space-ratio"].(float64)
	s.NoAdding, s.NoRemoving = closedStores(conf)
	if !scheduler.running {
		return s, nil // one that does not exist cannot be paused
	}
	paused, err := c.PausedSchedulers(ctx)
	if err != nil {
		return nil, err
	}
	s.Paused = slices.Contains(paused, evictLeader)
	return s, nil
}

// BalanceRegion is the scheduler that balances the regions of stores.
const BalanceRegion = "balance-region-scheduler"

// PausedSchedulers implements Client.
func (c *client) PausedSchedulers(ctx context.Context) (paused []string, err error) {
	err = c.call(ctx, "list paused schedulers", func(ctx context.Context, m member) error {
		paused = nil
		return m.raw(ctx, request{method: http.MethodGet, path: pathSchedulers + "?status=paused", out: &paused})
	})
	return paused, err
}

// isEnabled reports whether PD's configuration has a scheduler of a type that is not disabled.
func isEnabled(conf map[string]any, kind string) bool {
	list, _ := conf["schedulers-v2"].([]any)
	return slices.ContainsFunc(list, func(e any) bool {
		entry, _ := e.(map[string]any)
		return entry["type"] == kind && !isTrue(entry["disable"])
	})
}

// closedStores returns the stores that take no new copies of regions, and the stores that give no copies away. PD has
// such limits only in their first version.
func closedStores(conf map[string]any) (noAdding, noRemoving []uint64) {
	if version, ok := conf["store-limit-version"].(string); ok && version != "" && version != "v1" {
		return nil, nil
	}
	limits, _ := conf["store-limit"].(map[string]any)
	for key, v := range limits {
		id, err := strconv.ParseUint(key, 10, 64)
		limit, ok := v.(map[string]any)
		if err != nil || !ok {
			continue
		}
		if limit["add-peer"] == 0. {
			noAdding = append(noAdding, id)
		}
		if limit["remove-peer"] == 0. {
			noRemoving = append(noRemoving, id)
		}
	}
	slices.Sort(noAdding)
	slices.Sort(noRemoving)
	return noAdding, noRemoving
}

// numberOf reads a number, -1 where there is none.
func numberOf(v any) int {
	if n, ok := v.(float64); ok {
		return int(n)
	}
	return -1
}

// isFalse reads a boolean that is off, which PD writes as a string. One that is missing is not off.
func isFalse(v any) bool { return v == false || v == "false" }

// labelRule gives the regions of some ranges labels.
type labelRule struct {
	ID     string `json:"id"`
	Labels []struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"labels"`
}

// DeniedRanges implements Client. A PD without region labels has none.
func (c *client) DeniedRanges(ctx context.Context) ([]string, error) {
	const op = "list region labels"
	var rules []labelRule
	err := c.callWithin(ctx, op, patience*c.attempt, func(ctx context.Context, m member) error {
		rules = nil
		return m.raw(ctx, request{method: http.MethodGet, path: pathRegionLabels, out: &rules})
	})
	var status *StatusError
	if errors.As(err, &status) && status.routeMissing() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var denied []string
	for _, r := range rules {
		for _, l := range r.Labels {
			if l.Key == "schedule" && strings.EqualFold(l.Value, "deny") {
				denied = append(denied, r.ID)
				break
			}
		}
	}
	slices.Sort(denied)
	return denied, nil
}

// evictBatch is PD's own default.
const evictBatch = 3

// SetEvictBatch implements Client. PD asks for a store of the scheduler and keeps its ranges.
func (c *client) SetEvictBatch(ctx context.Context, storeID uint64) error {
	op := fmt.Sprintf("set how many leaders leave store %d at a time", storeID)
	return c.call(ctx, op, func(ctx context.Context, m member) error {
		return m.raw(ctx, request{
			method: http.MethodPost, path: pathSchedulerConfig + "/" + evictLeader + "/config",
			body: map[string]any{"name": evictLeader, "store_id": storeID, "batch": evictBatch},
		})
	})
}

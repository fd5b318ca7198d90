package pd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// evictLeader is the one scheduler that evicts region leaders, from any number of stores.
const evictLeader = "evict-leader-scheduler"

// Schedulers implements Client.
func (c *client) Schedulers(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.budget)
	defer cancel()
	running, _, err := c.loadedSchedulers(ctx)
	return running, err
}

// loadedSchedulers comes before every other call about schedulers. It returns the schedulers only when PD runs as
// many as PD's configuration enables. PD has its configuration at once after a leader change, but not its
// schedulers. The configuration is returned as well.
func (c *client) loadedSchedulers(ctx context.Context) (running []string, conf map[string]any, err error) {
	err = c.call(ctx, "list schedulers", func(ctx context.Context, m member) (err error) {
		running, err = get[[]string](ctx, m, pathSchedulers)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	c.setBootstrapped()
	err = c.call(ctx, "get schedule config", func(ctx context.Context, m member) (err error) {
		conf, err = get[map[string]any](ctx, m, pathScheduleConfig)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	enabled, err := enabledSchedulers(conf)
	if err != nil {
		return nil, nil, err
	}
	if len(running) < enabled {
		return nil, nil, &SchedulersNotLoadedError{Running: running, Configured: enabled}
	}
	return running, conf, nil
}

func enabledSchedulers(conf map[string]any) (int, error) {
	list, ok := conf["schedulers-v2"].([]any)
	if !ok {
		return 0, errors.New("get schedule config: PD answered without its schedulers")
	}
	n := 0
	for _, e := range list {
		entry, _ := e.(map[string]any)
		if !isTrue(entry["disable"]) {
			n++
		}
	}
	return n, nil
}

// EvictLeaderStores implements Client.
func (c *client) EvictLeaderStores(ctx context.Context) ([]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.budget)
	defer cancel()
	return c.evicting(ctx)
}

func (c *client) evicting(ctx context.Context) ([]uint64, error) {
	_, scheduler, err := c.evictions(ctx)
	return scheduler.stores, err
}

// eviction is the evict-leader scheduler.
type eviction struct {
	running bool
	stores  []uint64 // ascending
	// batch is how many leaders it moves at a time; -1 where PD does not say that, as before v8.3.
	batch int
}

// evictions returns PD's configuration and the evict-leader scheduler. It calls loadedSchedulers again when PD does
// not know the scheduler. After a leader change in between PD does not know the scheduler for a while, and the
// answer must not be "none" then.
func (c *client) evictions(ctx context.Context) (conf map[string]any, scheduler eviction, err error) {
	running, conf, err := c.loadedSchedulers(ctx)
	if err != nil {
		return nil, eviction{}, err
	}
	if !slices.Contains(running, evictLeader) {
		return conf, eviction{batch: -1}, nil
	}
	const op = "list stores under leader eviction"
	var own any
	err = c.call(ctx, op, func(ctx context.Context, m member) (err error) {
		own, err = get[any](ctx, m, pathSchedulerConfig+"/"+evictLeader+"/list")
		return err
	})
	if errors.Is(err, ErrNotFound) { // removed a moment ago, or not loaded: the next loop finds out
		running, conf, err = c.loadedSchedulers(ctx)
		if err == nil && slices.Contains(running, evictLeader) {
			err = fmt.Errorf("%s: %w: the scheduler is listed without a configuration", op, ErrNotReady)
		}
		return conf, eviction{batch: -1}, err
	}
	if err != nil {
		return nil, eviction{}, err
	}
	ids, err := storeIDs(op, own)
	m, _ := own.(map[string]any)
	return conf, eviction{running: true, stores: ids, batch: numberOf(m["batch"])}, err
}

func storeIDs(op string, conf any) ([]uint64, error) {
	m, _ := conf.(map[string]any)
	ranges, ok := m["store-id-ranges"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: PD answered without store ids", op)
	}
	ids := make([]uint64, 0, len(ranges))
	for key := range ranges {
		id, err := strconv.ParseUint(key, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

// AddEvictLeader implements Client.
func (c *client) AddEvictLeader(ctx context.Context, storeID uint64) error {
	op := fmt.Sprintf("start leader eviction from store %d", storeID)
	return c.changeEviction(ctx, op, storeID, true, func(ctx context.Context, m member) error {
		return m.post(ctx, pathSchedulers, map[string]any{"name": evictLeader, "store_id": storeID})
	})
}

// RemoveEvictLeader implements Client. "Not found" from PD does not count as success. A PD that has not loaded the
// scheduler says so too, and has the scheduler again seconds later. The list after the write decides.
func (c *client) RemoveEvictLeader(ctx context.Context, storeID uint64) error {
	op := fmt.Sprintf("end leader eviction from store %d", storeID)
	return c.changeEviction(ctx, op, storeID, false, func(ctx context.Context, m member) error {
		err := m.remove(ctx, fmt.Sprintf("%s/%s-%d", pathSchedulers, evictLeader, storeID))
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	})
}

// changeEviction writes only when the list differs from what is wanted, and verifies it afterwards.
func (c *client) changeEviction(
	ctx context.Context, op string, storeID uint64, want bool, write func(context.Context, member) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, c.budget)
	defer cancel()
	ids, err := c.evicting(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if slices.Contains(ids, storeID) == want {
		return nil
	}
	if err := c.call(ctx, op, write); err != nil {
		return err
	}
	if ids, err = c.evicting(ctx); err != nil {
		return fmt.Errorf("%s: verify: %w", op, err)
	}
	if slices.Contains(ids, storeID) != want {
		return fmt.Errorf("%s: verify: %w: PD lists the stores %v", op, ErrNotReady, ids)
	}
	return nil
}

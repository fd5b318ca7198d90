package pd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Stores implements Client. The library lists no tombstones, and PD lists them only when asked by state.
func (c *client) Stores(ctx context.Context, states ...StoreState) ([]Store, error) {
	if len(states) == 0 {
		states = []StoreState{StoreUp, StoreOffline, StoreTombstone}
	}
	query := url.Values{}
	for _, s := range states {
		query.Add("state", strconv.Itoa(int(s)))
	}
	out := storeList{}
	var answered time.Time
	err := c.call(ctx, "list stores", func(ctx context.Context, m member) error {
		path := pathStores + "?" + query.Encode()
		return m.raw(ctx, request{method: http.MethodGet, path: path, out: &out, date: &answered})
	})
	if err != nil {
		return nil, err
	}
	c.setBootstrapped()
	for i := range out {
		out[i].Answered = answered
	}
	return out, nil
}

// Store implements Client.
func (c *client) Store(ctx context.Context, id uint64) (*Store, error) {
	var info storeInfo
	err := c.call(ctx, fmt.Sprintf("get store %d", id), func(ctx context.Context, m member) (err error) {
		info, err = get[storeInfo](ctx, m, pathStore(id))
		return err
	})
	if err != nil {
		return nil, err
	}
	c.setBootstrapped()
	return storeOf(&info), nil
}

func storeOf(info *storeInfo) *Store {
	s := &Store{
		ID:            uint64(info.Store.ID),
		Address:       info.Store.Address,
		StatusAddress: info.Store.StatusAddress,
		State:         StoreState(info.Store.State),
		StateName:     info.Store.StateName,
		Version:       info.Store.Version,
		Labels:        make(map[string]string, len(info.Store.Labels)),
		LeaderCount:   int(info.Status.LeaderCount),
		RegionCount:   int(info.Status.RegionCount),
		LastHeartbeat: zeroIfNever(info.Status.LastHeartbeatTS),
		StartTime:     zeroIfNever(info.Status.StartTS),
	}
	if weight := info.Status.RegionWeight; weight != nil {
		s.RegionWeight, s.NoRegions = *weight, *weight == 0
	}
	s.Capacity, s.Available = room(info.Status)
	if used, err := byteSize(info.Status.UsedSize); err == nil {
		s.Used = used
	}
	for _, l := range info.Store.Labels {
		s.Labels[l.Key] = l.Value
	}
	if s.StateName == "" {
		s.StateName = s.State.String()
	}
	if s.StartTime.IsZero() && info.Store.StartTimestamp > 0 {
		s.StartTime = time.Unix(info.Store.StartTimestamp, 0)
	}
	return s
}

// room reads how large a store is and how much of it is free. Both count or neither does: a store of which only the
// size is known would look full.
func room(s storeStatus) (capacity, available int64) {
	size, err := byteSize(s.Capacity)
	if err != nil {
		return 0, 0
	}
	free, err := byteSize(s.Available)
	if err != nil {
		return 0, 0
	}
	return size, free
}

// byteSize reads an amount as PD writes it, such as 1.5GiB.
func byteSize(text string) (int64, error) {
	q, err := resource.ParseQuantity(strings.TrimSuffix(text, "B"))
	return q.Value(), err
}

// zeroIfNever returns the zero time for both forms in which PD writes "never": year 1, and 1970.
func zeroIfNever(t time.Time) time.Time {
	if t.Unix() <= 0 {
		return time.Time{}
	}
	return t
}

// DeleteStore implements Client. It never uses force, because with force PD makes a store with regions a tombstone
// at once. The copies of those regions would be lost. PD reads even force=false as true.
func (c *client) DeleteStore(ctx context.Context, id uint64) error {
	err := c.call(ctx, fmt.Sprintf("delete store %d", id), func(ctx context.Context, m member) error {
		return m.remove(ctx, pathStore(id))
	})
	if isGone(err) {
		return nil
	}
	return err
}

// isGone reports whether PD has answered that the store is a tombstone.
func isGone(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == http.StatusGone
}

// SetStoreState implements Client.
func (c *client) SetStoreState(ctx context.Context, id uint64, s StoreState) error {
	op := fmt.Sprintf("set state of store %d to %v", id, s)
	if s != StoreUp && s != StoreOffline {
		return fmt.Errorf("%s: only Up and Offline can be set", op)
	}
	return c.call(ctx, op, func(ctx context.Context, m member) error {
		return m.raw(ctx, request{
			method: http.MethodPost,
			path:   fmt.Sprintf("%s/state?state=%v", pathStore(id), s),
		})
	})
}

// SetStoreLabels implements Client.
func (c *client) SetStoreLabels(ctx context.Context, id uint64, labels map[string]string) error {
	if len(labels) == 0 {
		return nil
	}
	return c.call(ctx, fmt.Sprintf("set labels of store %d", id), func(ctx context.Context, m member) error {
		return m.post(ctx, pathStore(id)+"/label", labels)
	})
}

package pd

import (
	"context"
	"time"
)

// told is a Client that tells of each call how it ended. It stands before the
// client, so that a call is one, whatever it asks of which member, and has the
// name of its method, which has no number in it.
type told struct {
	to   Client
	tell func(call string, took time.Duration, err error)
}

func ask[T any](t told, call string, f func() (T, error)) (T, error) {
	begun := time.Now()
	got, err := f()
	t.tell(call, time.Since(begun), err)
	return got, err
}

func (t told) do(call string, f func() error) error {
	_, err := ask(t, call, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (t told) Members(ctx context.Context) (*Members, error) {
	return ask(t, "Members", func() (*Members, error) { return t.to.Members(ctx) })
}

func (t told) Health(ctx context.Context) ([]MemberHealth, error) {
	return ask(t, "Health", func() ([]MemberHealth, error) { return t.to.Health(ctx) })
}

func (t told) Leader(ctx context.Context) (*Member, error) {
	return ask(t, "Leader", func() (*Member, error) { return t.to.Leader(ctx) })
}

func (t told) TransferLeader(ctx context.Context, toName string) error {
	return t.do("TransferLeader", func() error { return t.to.TransferLeader(ctx, toName) })
}

func (t told) DeleteMember(ctx context.Context, id uint64) error {
	return t.do("DeleteMember", func() error { return t.to.DeleteMember(ctx, id) })
}

func (t told) Stores(ctx context.Context, states ...StoreState) ([]Store, error) {
	return ask(t, "Stores", func() ([]Store, error) { return t.to.Stores(ctx, states...) })
}

func (t told) Store(ctx context.Context, id uint64) (*Store, error) {
	return ask(t, "Store", func() (*Store, error) { return t.to.Store(ctx, id) })
}

func (t told) DeleteStore(ctx context.Context, id uint64) error {
	return t.do("DeleteStore", func() error { return t.to.DeleteStore(ctx, id) })
}

func (t told) SetStoreState(ctx context.Context, id uint64, s StoreState) error {
	return t.do("SetStoreState", func() error { return t.to.SetStoreState(ctx, id, s) })
}

func (t told) SetStoreLabels(ctx context.Context, id uint64, labels map[string]string) error {
	return t.do("SetStoreLabels", func() error { return t.to.SetStoreLabels(ctx, id, labels) })
}

func (t told) Schedulers(ctx context.Context) ([]string, error) {
	return ask(t, "Schedulers", func() ([]string, error) { return t.to.Schedulers(ctx) })
}

func (t told) EvictLeaderStores(ctx context.Context) ([]uint64, error) {
	return ask(t, "EvictLeaderStores", func() ([]uint64, error) { return t.to.EvictLeaderStores(ctx) })
}

func (t told) AddEvictLeader(ctx context.Context, storeID uint64) error {
	return t.do("AddEvictLeader", func() error { return t.to.AddEvictLeader(ctx, storeID) })
}

func (t told) RemoveEvictLeader(ctx context.Context, storeID uint64) error {
	return t.do("RemoveEvictLeader", func() error { return t.to.RemoveEvictLeader(ctx, storeID) })
}

func (t told) ReplicationConfig(ctx context.Context) (*ReplicationConfig, error) {
	return ask(t, "ReplicationConfig", func() (*ReplicationConfig, error) { return t.to.ReplicationConfig(ctx) })
}

func (t told) PlacementRules(ctx context.Context) ([]RuleGroup, error) {
	return ask(t, "PlacementRules", func() ([]RuleGroup, error) { return t.to.PlacementRules(ctx) })
}

func (t told) MaxStoreDownTime(ctx context.Context) (time.Duration, error) {
	return ask(t, "MaxStoreDownTime", func() (time.Duration, error) { return t.to.MaxStoreDownTime(ctx) })
}

func (t told) SetReplicationConfig(ctx context.Context, patch map[string]any) error {
	return t.do("SetReplicationConfig", func() error { return t.to.SetReplicationConfig(ctx, patch) })
}

func (t told) ClusterID(ctx context.Context) (uint64, error) {
	return ask(t, "ClusterID", func() (uint64, error) { return t.to.ClusterID(ctx) })
}

func (t told) ClusterVersion(ctx context.Context) (string, error) {
	return ask(t, "ClusterVersion", func() (string, error) { return t.to.ClusterVersion(ctx) })
}

func (t told) ServerVersion(ctx context.Context) (string, error) {
	return ask(t, "ServerVersion", func() (string, error) { return t.to.ServerVersion(ctx) })
}

func (t told) Close() { t.to.Close() }

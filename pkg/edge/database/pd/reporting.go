package pd

import (
	"context"
	"time"
)

// reportingClient is a Client that reports how each call ended. It wraps the client, so that a call is reported
// once, however many requests the client sends. The report has the name of the call's method, which contains no id.
type reportingClient struct {
	to     Client
	onCall func(call string, took time.Duration, err error)
}

func timed[T any](t reportingClient, call string, f func() (T, error)) (T, error) {
	begun := time.Now()
	got, err := f()
	t.onCall(call, time.Since(begun), err)
	return got, err
}

func (t reportingClient) do(call string, f func() error) error {
	_, err := timed(t, call, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (t reportingClient) Members(ctx context.Context) (*Members, error) {
	return timed(t, "Members", func() (*Members, error) { return t.to.Members(ctx) })
}

func (t reportingClient) Health(ctx context.Context) ([]MemberHealth, error) {
	return timed(t, "Health", func() ([]MemberHealth, error) { return t.to.Health(ctx) })
}

func (t reportingClient) Leader(ctx context.Context) (*Member, error) {
	return timed(t, "Leader", func() (*Member, error) { return t.to.Leader(ctx) })
}

func (t reportingClient) Voters(ctx context.Context) ([]Voter, error) {
	return timed(t, "Voters", func() ([]Voter, error) { return t.to.Voters(ctx) })
}

func (t reportingClient) TransferLeader(ctx context.Context, toName string) error {
	return t.do("TransferLeader", func() error { return t.to.TransferLeader(ctx, toName) })
}

func (t reportingClient) DeleteMember(ctx context.Context, id uint64) error {
	return t.do("DeleteMember", func() error { return t.to.DeleteMember(ctx, id) })
}

func (t reportingClient) Stores(ctx context.Context, states ...StoreState) ([]Store, error) {
	return timed(t, "Stores", func() ([]Store, error) { return t.to.Stores(ctx, states...) })
}

func (t reportingClient) Store(ctx context.Context, id uint64) (*Store, error) {
	return timed(t, "Store", func() (*Store, error) { return t.to.Store(ctx, id) })
}

func (t reportingClient) DeleteStore(ctx context.Context, id uint64) error {
	return t.do("DeleteStore", func() error { return t.to.DeleteStore(ctx, id) })
}

func (t reportingClient) SetStoreState(ctx context.Context, id uint64, s StoreState) error {
	return t.do("SetStoreState", func() error { return t.to.SetStoreState(ctx, id, s) })
}

func (t reportingClient) SetStoreLabels(ctx context.Context, id uint64, labels map[string]string) error {
	return t.do("SetStoreLabels", func() error { return t.to.SetStoreLabels(ctx, id, labels) })
}

func (t reportingClient) Schedulers(ctx context.Context) ([]string, error) {
	return timed(t, "Schedulers", func() ([]string, error) { return t.to.Schedulers(ctx) })
}

func (t reportingClient) EvictLeaderStores(ctx context.Context) ([]uint64, error) {
	return timed(t, "EvictLeaderStores", func() ([]uint64, error) { return t.to.EvictLeaderStores(ctx) })
}

func (t reportingClient) Scheduling(ctx context.Context) (*Scheduling, error) {
	return timed(t, "Scheduling", func() (*Scheduling, error) { return t.to.Scheduling(ctx) })
}

func (t reportingClient) PausedSchedulers(ctx context.Context) ([]string, error) {
	return timed(t, "PausedSchedulers", func() ([]string, error) { return t.to.PausedSchedulers(ctx) })
}

func (t reportingClient) DeniedRanges(ctx context.Context) ([]string, error) {
	return timed(t, "DeniedRanges", func() ([]string, error) { return t.to.DeniedRanges(ctx) })
}

func (t reportingClient) ScheduleSettings(ctx context.Context, keys ...string) (*ScheduleSettings, error) {
	return timed(t, "ScheduleSettings", func() (*ScheduleSettings, error) { return t.to.ScheduleSettings(ctx, keys...) })
}

func (t reportingClient) AddScheduler(ctx context.Context, name string) error {
	return t.do("AddScheduler", func() error { return t.to.AddScheduler(ctx, name) })
}

func (t reportingClient) SetScheduleNumbers(ctx context.Context, numbers map[string]float64) error {
	return t.do("SetScheduleNumbers", func() error { return t.to.SetScheduleNumbers(ctx, numbers) })
}

func (t reportingClient) SetEvictBatch(ctx context.Context, storeID uint64) error {
	return t.do("SetEvictBatch", func() error { return t.to.SetEvictBatch(ctx, storeID) })
}

func (t reportingClient) AddEvictLeader(ctx context.Context, storeID uint64) error {
	return t.do("AddEvictLeader", func() error { return t.to.AddEvictLeader(ctx, storeID) })
}

func (t reportingClient) RemoveEvictLeader(ctx context.Context, storeID uint64) error {
	return t.do("RemoveEvictLeader", func() error { return t.to.RemoveEvictLeader(ctx, storeID) })
}

func (t reportingClient) ReplicationConfig(ctx context.Context) (*ReplicationConfig, error) {
	return timed(t, "ReplicationConfig", func() (*ReplicationConfig, error) { return t.to.ReplicationConfig(ctx) })
}

func (t reportingClient) PlacementRules(ctx context.Context) ([]RuleGroup, error) {
	return timed(t, "PlacementRules", func() ([]RuleGroup, error) { return t.to.PlacementRules(ctx) })
}

func (t reportingClient) Isolation(ctx context.Context) (*Isolation, error) {
	return timed(t, "Isolation", func() (*Isolation, error) { return t.to.Isolation(ctx) })
}

func (t reportingClient) BinlogNodes(ctx context.Context) ([]BinlogNode, error) {
	return timed(t, "BinlogNodes", func() ([]BinlogNode, error) { return t.to.BinlogNodes(ctx) })
}

func (t reportingClient) Service(ctx context.Context, name string) (*Service, error) {
	return timed(t, "Service", func() (*Service, error) { return t.to.Service(ctx, name) })
}

func (t reportingClient) Lock(ctx context.Context) (*Lock, error) {
	return timed(t, "Lock", func() (*Lock, error) { return t.to.Lock(ctx) })
}

func (t reportingClient) TakeLock(ctx context.Context, l Lock, lasts time.Duration) (string, error) {
	return timed(t, "TakeLock", func() (string, error) { return t.to.TakeLock(ctx, l, lasts) })
}

func (t reportingClient) RenewLock(ctx context.Context, id, nonce string) error {
	return t.do("RenewLock", func() error { return t.to.RenewLock(ctx, id, nonce) })
}

func (t reportingClient) ReleaseLock(ctx context.Context, id string) error {
	return t.do("ReleaseLock", func() error { return t.to.ReleaseLock(ctx, id) })
}

func (t reportingClient) LogBackups(ctx context.Context) ([]LogBackup, error) {
	return timed(t, "LogBackups", func() ([]LogBackup, error) { return t.to.LogBackups(ctx) })
}

func (t reportingClient) ServiceSafePoints(ctx context.Context) ([]ServiceSafePoint, error) {
	return timed(t, "ServiceSafePoints", func() ([]ServiceSafePoint, error) { return t.to.ServiceSafePoints(ctx) })
}

func (t reportingClient) DeleteServiceSafePoint(ctx context.Context, id string) error {
	return t.do("DeleteServiceSafePoint", func() error { return t.to.DeleteServiceSafePoint(ctx, id) })
}

func (t reportingClient) MaxStoreDownTime(ctx context.Context) (time.Duration, error) {
	return timed(t, "MaxStoreDownTime", func() (time.Duration, error) { return t.to.MaxStoreDownTime(ctx) })
}

func (t reportingClient) HoldRegions(ctx context.Context, lasts time.Duration) error {
	return t.do("HoldRegions", func() error { return t.to.HoldRegions(ctx, lasts) })
}

func (t reportingClient) LimitLeaderMoves(ctx context.Context, limit int, lasts time.Duration) error {
	return t.do("LimitLeaderMoves", func() error { return t.to.LimitLeaderMoves(ctx, limit, lasts) })
}

func (t reportingClient) SetReplicationConfig(ctx context.Context, patch map[string]any) error {
	return t.do("SetReplicationConfig", func() error { return t.to.SetReplicationConfig(ctx, patch) })
}

func (t reportingClient) ClusterID(ctx context.Context) (uint64, error) {
	return timed(t, "ClusterID", func() (uint64, error) { return t.to.ClusterID(ctx) })
}

func (t reportingClient) ClusterVersion(ctx context.Context) (string, error) {
	return timed(t, "ClusterVersion", func() (string, error) { return t.to.ClusterVersion(ctx) })
}

func (t reportingClient) ServerVersion(ctx context.Context) (string, error) {
	return timed(t, "ServerVersion", func() (string, error) { return t.to.ServerVersion(ctx) })
}

func (t reportingClient) Close() { t.to.Close() }

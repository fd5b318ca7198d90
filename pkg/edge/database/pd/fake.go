package pd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fake is a Client in memory, for tests. It answers from State, records what it is asked and lets a test fail any call.
// It keeps PD's rules that callers depend on: one leader, no deletion of the leader, no store below max-replicas, no
// schedulers before bootstrap. Time does not pass in it: a store turns Tombstone when the test says so.
type Fake struct {
	// Hook sees every call, such as "DeleteStore(4)", before it takes effect; an error from it is the call's answer. It
	// runs without the lock held, so it may use Update. Set it before the fake is shared.
	Hook func(ctx context.Context, call string) error

	mu    sync.Mutex
	state FakeState
	calls []string
}

// FakeState is what a Fake knows.
type FakeState struct {
	ClusterID      uint64
	ClusterVersion string
	Members        []Member
	// Leader is the name of the leading member; empty makes every call fail with ErrNoLeader.
	Leader string
	// Unhealthy names the members that do not answer the leader's ping.
	Unhealthy map[string]bool
	// Silent names the members that do not answer us, Refusing those of them on whose ports nothing listens. Where the
	// leader is silent every call fails with ErrLeaderUnreachable, but Voters.
	Silent, Refusing map[string]bool
	// Missed names the members that take part in the quorum, but do not answer the leader's ping.
	Missed map[string]bool
	// Lagging names the members that have not applied what is committed.
	Lagging map[string]bool
	Stores  []Store
	// Evicting are the stores under leader eviction.
	Evicting map[uint64]bool
	// Scheduling is how PD moves leaders and regions; its stores are the stores of Evicting.
	Scheduling Scheduling
	// Paused are the schedulers that are paused.
	Paused []string
	// Denied are the region labels that keep leaders where they are.
	Denied      []string
	Replication ReplicationConfig
	// Rules are groups of placement rules besides the group of the default rule, which follows Replication.
	Rules []RuleGroup
	// Isolation is where the copies of regions are.
	Isolation Isolation
	// Binlog are the Pumps and drainers.
	Binlog []BinlogNode
	// Services are the services of PD, by name; nil where PD does all the work itself.
	Services map[string]Service
	// LogBackups are the tasks of log backup.
	LogBackups []LogBackup
	// SafePoints are the service safepoints.
	SafePoints []ServiceSafePoint
	// Settings are the schedulers without arguments and the numbers of the schedule configuration.
	Settings ScheduleSettings
	// Lock is the lock of parts, nil for none.
	Lock *Lock
	// MaxStoreDown is schedule.max-store-down-time.
	MaxStoreDown time.Duration
	// NotBootstrapped, SchedulersNotLoaded and Unreachable make the calls they concern fail accordingly.
	NotBootstrapped, SchedulersNotLoaded, Unreachable bool
}

var _ Client = (*Fake)(nil)

// NewFake returns a fake with members pd-0, pd-1, … of which pd-0 leads, and Up stores 1, 2, ….
func NewFake(members, stores int) *Fake {
	f := &Fake{state: FakeState{
		ClusterID:      7000000000000000001,
		ClusterVersion: "8.5.0",
		Leader:         "pd-0",
		Unhealthy:      map[string]bool{},
		Evicting:       map[uint64]bool{},
		Scheduling:     Scheduling{Batch: evictBatch, LeaderLimit: 4, ReplicaLimit: 64, RegionLimit: 2048},
		Settings:       ScheduleSettings{Numbers: map[string]float64{}},
		Replication:    ReplicationConfig{MaxReplicas: 3, EnablePlacementRules: true},
		MaxStoreDown:   30 * time.Minute,
	}}
	for i := range members {
		name := fmt.Sprintf("pd-%d", i)
		f.state.Members = append(f.state.Members, Member{
			Name: name, ID: uint64(i + 1), Version: "v8.5.0",
			ClientURLs: []string{"http://" + name + ".pd-peer.ns.svc:2379"},
			PeerURLs:   []string{"http://" + name + ".pd-peer.ns.svc:2380"},
		})
	}
	for i := range stores {
		f.state.Stores = append(f.state.Stores, Store{
			ID: uint64(i + 1), Address: fmt.Sprintf("tikv-%d.tikv-peer.ns.svc:20160", i),
			StateName: "Up", Version: "8.5.0", Labels: map[string]string{}, LeaderCount: 10, RegionCount: 30,
		})
	}
	return f
}

// Update changes the state under the fake's lock.
func (f *Fake) Update(change func(*FakeState)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.state)
}

// Calls returns the calls so far, in order.
func (f *Fake) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Writes returns the calls so far that change something, in order.
func (f *Fake) Writes() []string {
	return slices.DeleteFunc(f.Calls(), func(call string) bool {
		return !slices.ContainsFunc([]string{"Transfer", "Delete", "Set", "Add", "Remove", "Limit"},
			func(verb string) bool { return strings.HasPrefix(call, verb) })
	})
}

// begin records a call and asks the hook.
func (f *Fake) begin(ctx context.Context, call string) error {
	f.mu.Lock()
	f.calls = append(f.calls, call)
	f.mu.Unlock()
	if f.Hook != nil {
		if err := f.Hook(ctx, call); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	return nil
}

// do begins a call that the leader answers, and runs body under the lock.
func (f *Fake) do(ctx context.Context, call string, body func(*FakeState) error) error {
	if err := f.begin(ctx, call); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.state.Unreachable:
		return &UnavailableError{Op: call, Kind: ErrUnreachable, Last: &lostError{kind: ErrUnreachable}}
	case f.state.Silent[f.state.Leader]:
		leader := &LeaderError{Name: f.state.Leader, Err: errors.New("error dialing backend")}
		return &UnavailableError{Op: call, Kind: ErrLeaderUnreachable, Last: &lostError{kind: ErrLeaderUnreachable, leader: leader}}
	case f.state.Leader == "":
		return &UnavailableError{Op: call, Kind: ErrNoLeader, Last: &lostError{kind: ErrNoLeader}}
	}
	return body(&f.state)
}

// refuse is an answer of PD; the codes and texts are as PD v8 has them.
func refuse(code int, format string, args ...any) error {
	return &StatusError{Method: "FAKE", Code: code, Message: fmt.Sprintf(format, args...)}
}

func (s *FakeState) bootstrapped() error {
	if s.NotBootstrapped {
		return refuse(500, "[PD:cluster:ErrNotBootstrapped]TiKV cluster not bootstrapped, please start TiKV first")
	}
	return nil
}

func (s *FakeState) loaded() error {
	if err := s.bootstrapped(); err != nil {
		return err
	}
	if s.SchedulersNotLoaded {
		return &SchedulersNotLoadedError{Configured: 3}
	}
	return nil
}

func (s *FakeState) member(name string) (*Member, error) {
	for i := range s.Members {
		if s.Members[i].Name == name {
			return &s.Members[i], nil
		}
	}
	return nil, refuse(500, "no valid pd to transfer etcd leader")
}

func (s *FakeState) store(id uint64) (*Store, error) {
	if err := s.bootstrapped(); err != nil {
		return nil, err
	}
	for i := range s.Stores {
		if s.Stores[i].ID == id {
			return &s.Stores[i], nil
		}
	}
	return nil, refuse(404, "store %d not found", id)
}

func (s *Store) clone() Store {
	c := *s
	c.Labels = maps.Clone(s.Labels)
	return c
}

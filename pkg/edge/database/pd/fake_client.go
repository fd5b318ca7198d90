package pd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Members implements Client.
func (f *Fake) Members(ctx context.Context) (out *Members, err error) {
	err = f.do(ctx, "Members()", func(s *FakeState) error {
		leader, err := s.member(s.Leader)
		if err != nil {
			return err
		}
		l := *leader
		out = &Members{ClusterID: s.ClusterID, Members: slices.Clone(s.Members), Leader: &l, EtcdLeader: &l}
		return nil
	})
	return out, err
}

// Health implements Client.
func (f *Fake) Health(ctx context.Context) (out []MemberHealth, err error) {
	err = f.do(ctx, "Health()", func(s *FakeState) error {
		for _, m := range s.Members {
			out = append(out, MemberHealth{Name: m.Name, ID: m.ID, ClientURLs: m.ClientURLs, Healthy: !s.Unhealthy[m.Name] && !s.Missed[m.Name]})
		}
		return nil
	})
	return out, err
}

// Leader implements Client.
func (f *Fake) Leader(ctx context.Context) (out *Member, err error) {
	err = f.do(ctx, "Leader()", func(s *FakeState) error {
		m, err := s.member(s.Leader)
		if err == nil {
			l := *m
			out = &l
		}
		return err
	})
	return out, err
}

// Voters implements Client. Members that are unhealthy say so themselves: they follow no leader.
func (f *Fake) Voters(ctx context.Context) ([]Voter, error) {
	const call = "Voters()"
	if err := f.begin(ctx, call); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.state
	var leads uint64
	if l, err := s.member(s.Leader); err == nil {
		leads = l.ID
	}
	var all []Voter
	answered := false
	for _, m := range s.Members {
		v := Voter{Name: m.Name, ID: m.ID, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, Refused: s.Refusing[m.Name]}
		if !s.Unreachable && !s.Silent[m.Name] && !v.Refused {
			v.Raft, answered = &Raft{Member: m.ID, Leader: leads, Committed: 9, Applied: 9}, true
			if s.Unhealthy[m.Name] {
				v.Raft.Leader = 0
			}
			if s.Lagging[m.Name] {
				v.Raft.Committed, v.Raft.Applied = 8, 8
			}
		}
		all = append(all, v)
	}
	if !answered {
		silent := &SilentError{Err: errors.New("nobody answers")}
		for _, v := range all {
			if v.Refused {
				silent.Refused = append(silent.Refused, hostOf(v.PeerURLs[0]))
			}
		}
		return nil, &UnavailableError{Op: call, Kind: ErrUnreachable, Last: silent}
	}
	return all, nil
}

// TransferLeader implements Client.
func (f *Fake) TransferLeader(ctx context.Context, toName string) error {
	return f.do(ctx, fmt.Sprintf("TransferLeader(%s)", toName), func(s *FakeState) error {
		if _, err := s.member(toName); err != nil {
			return err
		}
		s.Leader = toName
		return nil
	})
}

// DeleteMember implements Client.
func (f *Fake) DeleteMember(ctx context.Context, id uint64) error {
	return f.do(ctx, fmt.Sprintf("DeleteMember(%d)", id), func(s *FakeState) error {
		i := slices.IndexFunc(s.Members, func(m Member) bool { return m.ID == id })
		if i < 0 {
			return nil
		}
		if s.Members[i].Name == s.Leader {
			return fmt.Errorf("delete PD member %d: %w", id, ErrIsLeader)
		}
		s.Members = slices.Delete(slices.Clone(s.Members), i, i+1)
		return nil
	})
}

// Stores implements Client.
func (f *Fake) Stores(ctx context.Context, states ...StoreState) (out []Store, err error) {
	err = f.do(ctx, "Stores()", func(s *FakeState) error {
		for i := range s.Stores {
			if len(states) == 0 || slices.Contains(states, s.Stores[i].State) {
				out = append(out, s.Stores[i].clone())
			}
		}
		return s.bootstrapped()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Store implements Client.
func (f *Fake) Store(ctx context.Context, id uint64) (out *Store, err error) {
	err = f.do(ctx, fmt.Sprintf("Store(%d)", id), func(s *FakeState) error {
		st, err := s.store(id)
		if err == nil {
			c := st.clone()
			out = &c
		}
		return err
	})
	return out, err
}

// DeleteStore implements Client.
func (f *Fake) DeleteStore(ctx context.Context, id uint64) error {
	return f.do(ctx, fmt.Sprintf("DeleteStore(%d)", id), func(s *FakeState) error {
		st, err := s.store(id)
		if err != nil || st.State != StoreUp {
			return err
		}
		up := 0
		for _, other := range s.Stores {
			if other.State == StoreUp {
				up++
			}
		}
		if up <= s.Replication.MaxReplicas {
			return refuse(400, "can not remove store %d since there are only %d up stores", id, up)
		}
		st.State, st.StateName = StoreOffline, StoreOffline.String()
		return nil
	})
}

// SetStoreState implements Client.
func (f *Fake) SetStoreState(ctx context.Context, id uint64, state StoreState) error {
	return f.do(ctx, fmt.Sprintf("SetStoreState(%d, %v)", id, state), func(s *FakeState) error {
		st, err := s.store(id)
		switch {
		case err != nil:
			return err
		case state == StoreTombstone:
			return fmt.Errorf("set state of store %d: only Up and Offline can be set", id)
		case st.State == StoreTombstone:
			return refuse(410, "store %d has been removed", id)
		}
		st.State, st.StateName = state, state.String()
		return nil
	})
}

// SetStoreLabels implements Client.
func (f *Fake) SetStoreLabels(ctx context.Context, id uint64, labels map[string]string) error {
	return f.do(ctx, fmt.Sprintf("SetStoreLabels(%d, %v)", id, labels), func(s *FakeState) error {
		st, err := s.store(id)
		if err != nil {
			return err
		}
		if st.Labels == nil {
			st.Labels = map[string]string{}
		}
		maps.Copy(st.Labels, labels)
		return nil
	})
}

// Schedulers implements Client.
func (f *Fake) Schedulers(ctx context.Context) (out []string, err error) {
	err = f.do(ctx, "Schedulers()", func(s *FakeState) error {
		if err := s.loaded(); err != nil {
			return err
		}
		out = []string{"balance-hot-region-scheduler", "balance-leader-scheduler", "balance-region-scheduler"}
		if len(s.Evicting) > 0 {
			out = append(out, evictLeader)
		}
		return nil
	})
	return out, err
}

// EvictLeaderStores implements Client.
func (f *Fake) EvictLeaderStores(ctx context.Context) (out []uint64, err error) {
	err = f.do(ctx, "EvictLeaderStores()", func(s *FakeState) error {
		out = slices.Sorted(maps.Keys(s.Evicting))
		return s.loaded()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Scheduling implements Client.
func (f *Fake) Scheduling(ctx context.Context) (out *Scheduling, err error) {
	err = f.do(ctx, "Scheduling()", func(s *FakeState) error {
		c := s.Scheduling
		c.Evicting = slices.Sorted(maps.Keys(s.Evicting))
		out = &c
		return s.loaded()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// PausedSchedulers implements Client.
func (f *Fake) PausedSchedulers(ctx context.Context) (out []string, err error) {
	err = f.do(ctx, "PausedSchedulers()", func(s *FakeState) error {
		out = slices.Clone(s.Paused)
		return nil
	})
	return out, err
}

// DeniedRanges implements Client.
func (f *Fake) DeniedRanges(ctx context.Context) (out []string, err error) {
	err = f.do(ctx, "DeniedRanges()", func(s *FakeState) error {
		out = slices.Clone(s.Denied)
		return nil
	})
	return out, err
}

// SetEvictBatch implements Client.
func (f *Fake) SetEvictBatch(ctx context.Context, storeID uint64) error {
	return f.do(ctx, fmt.Sprintf("SetEvictBatch(%d)", storeID), func(s *FakeState) error {
		if !s.Evicting[storeID] {
			return refuse(404, "scheduler not found")
		}
		s.Scheduling.Batch = evictBatch
		return nil
	})
}

// AddEvictLeader implements Client.
func (f *Fake) AddEvictLeader(ctx context.Context, storeID uint64) error {
	return f.do(ctx, fmt.Sprintf("AddEvictLeader(%d)", storeID), func(s *FakeState) error {
		if err := s.loaded(); err != nil {
			return err
		}
		if _, err := s.store(storeID); err != nil {
			return err
		}
		if s.Evicting == nil {
			s.Evicting = map[uint64]bool{}
		}
		s.Evicting[storeID] = true
		return nil
	})
}

// RemoveEvictLeader implements Client.
func (f *Fake) RemoveEvictLeader(ctx context.Context, storeID uint64) error {
	return f.do(ctx, fmt.Sprintf("RemoveEvictLeader(%d)", storeID), func(s *FakeState) error {
		if err := s.loaded(); err != nil {
			return err
		}
		delete(s.Evicting, storeID)
		return nil
	})
}

// ReplicationConfig implements Client.
func (f *Fake) ReplicationConfig(ctx context.Context) (out *ReplicationConfig, err error) {
	err = f.do(ctx, "ReplicationConfig()", func(s *FakeState) error {
		r := s.Replication
		r.LocationLabels = slices.Clone(r.LocationLabels)
		out = &r
		return nil
	})
	return out, err
}

// PlacementRules implements Client.
func (f *Fake) PlacementRules(ctx context.Context) (out []RuleGroup, err error) {
	err = f.do(ctx, "PlacementRules()", func(s *FakeState) error {
		if !s.Replication.EnablePlacementRules {
			return refuse(412, "[PD:placement:ErrPlacementDisabled]placement rules feature is disabled")
		}
		out = append(out, RuleGroup{ID: "pd", Rules: []PlacementRule{{
			ID: "default", Role: "voter", Count: s.Replication.MaxReplicas,
			LocationLabels: slices.Clone(s.Replication.LocationLabels), IsolationLevel: s.Replication.IsolationLevel,
		}}})
		out = append(out, s.Rules...)
		return nil
	})
	return out, err
}

// Isolation implements Client.
func (f *Fake) Isolation(ctx context.Context) (out *Isolation, err error) {
	err = f.do(ctx, "Isolation()", func(s *FakeState) error {
		out = s.Isolation.clone()
		return s.bootstrapped()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Service implements Client.
func (f *Fake) Service(ctx context.Context, name string) (out *Service, err error) {
	err = f.do(ctx, fmt.Sprintf("Service(%s)", name), func(s *FakeState) error {
		if err := s.bootstrapped(); err != nil {
			return err
		}
		if s.Services == nil {
			return refuse(404, "not support micro service")
		}
		one := s.Services[name]
		one.Members = slices.Clone(one.Members)
		out = &one
		return nil
	})
	return out, err
}

// BinlogNodes implements Client.
func (f *Fake) BinlogNodes(ctx context.Context) (out []BinlogNode, err error) {
	err = f.do(ctx, "BinlogNodes()", func(s *FakeState) error {
		out = slices.Clone(s.Binlog)
		return nil
	})
	return out, err
}

// LogBackups implements Client.
func (f *Fake) LogBackups(ctx context.Context) (out []LogBackup, err error) {
	err = f.do(ctx, "LogBackups()", func(s *FakeState) error {
		out = slices.Clone(s.LogBackups)
		return nil
	})
	return out, err
}

// MaxStoreDownTime implements Client.
func (f *Fake) MaxStoreDownTime(ctx context.Context) (out time.Duration, err error) {
	err = f.do(ctx, "MaxStoreDownTime()", func(s *FakeState) error {
		out = s.MaxStoreDown
		return nil
	})
	return out, err
}

// HoldRegions implements Client.
func (f *Fake) HoldRegions(ctx context.Context, lasts time.Duration) error {
	return f.do(ctx, fmt.Sprintf("HoldRegions(%s)", lasts), func(*FakeState) error { return nil })
}

// LimitLeaderMoves implements Client.
func (f *Fake) LimitLeaderMoves(ctx context.Context, limit int, lasts time.Duration) error {
	return f.do(ctx, fmt.Sprintf("LimitLeaderMoves(%d, %s)", limit, lasts), func(*FakeState) error { return nil })
}

// SetReplicationConfig implements Client.
func (f *Fake) SetReplicationConfig(ctx context.Context, patch map[string]any) error {
	return f.do(ctx, fmt.Sprintf("SetReplicationConfig(%v)", patch), func(s *FakeState) error {
		for key, v := range patch {
			switch n := v.(type) {
			case int:
				if key == "max-replicas" {
					s.Replication.MaxReplicas = n
				}
			case string:
				switch key {
				case "location-labels":
					s.Replication.LocationLabels = listOf(n)
				case "enable-placement-rules":
					if err := s.bootstrapped(); err != nil {
						return err
					}
					s.Replication.EnablePlacementRules = n == "true"
				}
			}
		}
		return nil
	})
}

// ClusterID implements Client.
func (f *Fake) ClusterID(ctx context.Context) (id uint64, err error) {
	err = f.do(ctx, "ClusterID()", func(s *FakeState) error {
		id = s.ClusterID
		return nil
	})
	return id, err
}

// ClusterVersion implements Client.
func (f *Fake) ClusterVersion(ctx context.Context) (v string, err error) {
	err = f.do(ctx, "ClusterVersion()", func(s *FakeState) error {
		v = s.ClusterVersion
		return nil
	})
	return v, err
}

// ServerVersion implements Client.
func (f *Fake) ServerVersion(ctx context.Context) (v string, err error) {
	err = f.do(ctx, "ServerVersion()", func(s *FakeState) error {
		m, err := s.member(s.Leader)
		if err == nil {
			v = m.Version
		}
		return err
	})
	return v, err
}

// Close implements Client.
func (f *Fake) Close() {}

// Lock implements Client.
func (f *Fake) Lock(ctx context.Context) (out *Lock, err error) {
	err = f.do(ctx, "Lock()", func(s *FakeState) error {
		out = s.Lock
		return nil
	})
	return out, err
}

// TakeLock implements Client. The id of a Lock is its nonce.
func (f *Fake) TakeLock(ctx context.Context, l Lock, _ time.Duration) (id string, err error) {
	err = f.do(ctx, fmt.Sprintf("TakeLock(%s)", l.Part), func(s *FakeState) error {
		if s.Lock != nil && s.Lock.UID != l.UID {
			return &LockedError{*s.Lock}
		}
		s.Lock = &l
		return nil
	})
	return l.Nonce, err
}

// RenewLock implements Client.
func (f *Fake) RenewLock(ctx context.Context, _, nonce string) error {
	return f.do(ctx, "RenewLock()", func(s *FakeState) error {
		if s.Lock == nil || s.Lock.Nonce != nonce {
			return ErrLockLost
		}
		return nil
	})
}

// ReleaseLock implements Client.
func (f *Fake) ReleaseLock(ctx context.Context, id string) error {
	return f.do(ctx, "ReleaseLock()", func(s *FakeState) error {
		if s.Lock != nil && s.Lock.Nonce == id {
			s.Lock = nil
		}
		return nil
	})
}

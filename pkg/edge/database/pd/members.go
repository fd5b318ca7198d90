package pd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// askTransferAgain is how long to wait for a transfer that PD has accepted before PD is asked again. PD's leadership
// follows etcd's within 1.2 s (measured on v6.5).
const askTransferAgain = 3 * time.Second

// Members implements Client.
func (c *client) Members(ctx context.Context) (*Members, error) {
	var info membersInfo
	// PD collects the versions and priorities of all members, which took 13 s (measured) while one hung.
	err := c.callWithin(ctx, "list PD members", patience*c.attempt, func(ctx context.Context, m member) (err error) {
		if info, err = get[membersInfo](ctx, m, pathMembers); err == nil {
			err = atMost(maxMembers, len(info.Members), "members")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &Members{ClusterID: info.Header.ClusterID}
	var urls []string
	for _, m := range info.Members {
		out.Members = append(out.Members, *memberOf(&m))
		urls = append(urls, addresses(m.ClientURLs)...)
	}
	if info.Leader.MemberID != 0 { // an election shows as an empty leader
		out.Leader = memberOf(&info.Leader)
	}
	if info.EtcdLeader.MemberID != 0 {
		out.EtcdLeader = memberOf(&info.EtcdLeader)
	}
	c.mu.Lock()
	c.learnt = urls
	c.mu.Unlock()
	return out, nil
}

func memberOf(m *memberInfo) *Member {
	return &Member{
		Name:           m.Name,
		ID:             m.MemberID,
		PeerURLs:       m.PeerURLs,
		ClientURLs:     m.ClientURLs,
		LeaderPriority: int(m.LeaderPriority),
		Version:        m.BinaryVersion,
	}
}

// Health implements Client.
func (c *client) Health(ctx context.Context) ([]MemberHealth, error) {
	var list []healthInfo
	err := c.callWithin(ctx, "get PD health", patience*c.attempt, func(ctx context.Context, m member) (err error) {
		if list, err = get[[]healthInfo](ctx, m, pathHealth); err == nil {
			err = atMost(maxMembers, len(list), "members")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]MemberHealth, 0, len(list))
	for _, h := range list {
		out = append(out, MemberHealth{Name: h.Name, ID: h.MemberID, ClientURLs: h.ClientURLs, Healthy: h.Health})
	}
	return out, nil
}

// Leader implements Client. PD returns neither the version nor the priority here.
func (c *client) Leader(ctx context.Context) (*Member, error) {
	t, cancel := c.begin(ctx, "get PD leader")
	defer cancel()
	return c.leaderWithin(t)
}

// leaderWithin searches for the leader until it is found or the turn ends.
func (c *client) leaderWithin(t *repeatedCall) (*Member, error) {
	for {
		_, leader, err := c.findLeader(t.ctx)
		if err == nil {
			return memberOf(leader), nil
		}
		if err := t.pause(kindOf(err), err); err != nil {
			return nil, err
		}
	}
}

// TransferLeader implements Client. PD answers before the new leader serves, so this waits for the new leader's
// confirmation.
func (c *client) TransferLeader(ctx context.Context, toName string) error {
	op := fmt.Sprintf("transfer PD leader to %q", toName)
	if toName == "" || url.PathEscape(toName) != toName { // it is a part of the path as it is
		return fmt.Errorf("%s: not a member name", op)
	}
	t, cancel := c.begin(ctx, op)
	defer cancel()
	var asked time.Time
	for {
		leader, err := c.leaderWithin(t)
		if err != nil {
			return err
		}
		if leader.Name == toName {
			return nil
		}
		if asked.IsZero() || time.Since(asked) > askTransferAgain {
			err := c.call(t.ctx, op, func(ctx context.Context, m member) error {
				return m.post(ctx, pathLeader+"/transfer/"+toName, nil)
			})
			if err != nil {
				return err
			}
			asked = time.Now()
		}
		t.next = firstPause // waiting for an effect, not backing off
		if err := t.pause(ErrNotReady, fmt.Errorf("%q still leads", leader.Name)); err != nil {
			return err
		}
	}
}

// DeleteMember implements Client. PD allows to delete the leader. The cluster then has no leader for four seconds,
// and the process of the deleted member runs on without a cluster (measured on v8.1). So a delete of the leader is
// refused here.
func (c *client) DeleteMember(ctx context.Context, id uint64) error {
	op := fmt.Sprintf("delete PD member %d", id)
	t, cancel := c.begin(ctx, op)
	defer cancel()
	leader, err := c.leaderWithin(t)
	if err != nil {
		return err
	}
	if leader.ID == id {
		return fmt.Errorf("%s (%s): %w", op, leader.Name, ErrIsLeader)
	}
	err = c.call(t.ctx, op, func(ctx context.Context, m member) error {
		return m.raw(ctx, request{method: http.MethodDelete, path: fmt.Sprintf("/pd/api/v1/members/id/%d", id)})
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// ClusterID implements Client.
func (c *client) ClusterID(ctx context.Context) (uint64, error) {
	type info struct {
		ID uint64 `json:"id"`
	}
	var cluster info
	err := c.call(ctx, "get cluster id", func(ctx context.Context, m member) (err error) {
		cluster, err = get[info](ctx, m, pathCluster)
		return err
	})
	if err == nil && cluster.ID == 0 {
		return 0, errors.New("get cluster id: PD answered without one")
	}
	return cluster.ID, err
}

// ServerVersion implements Client.
func (c *client) ServerVersion(ctx context.Context) (string, error) {
	type info struct {
		Version string `json:"version"`
	}
	var v info
	err := c.call(ctx, "get PD version", func(ctx context.Context, m member) (err error) {
		v, err = get[info](ctx, m, pathVersion)
		return err
	})
	return v.Version, err
}

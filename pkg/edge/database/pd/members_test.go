package pd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestMembers(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.answer("GET /pd/api/v1/members", `{"header":{"cluster_id":7710496320821339760},"members":[
			{"name":"pd-1","member_id":7648505302407388514,"peer_urls":["http://p:2380"],"client_urls":["http://c:2379"],
			 "leader_priority":5,"binary_version":"v8.1.0","git_hash":"None"},
			{"name":"","member_id":12}],
			"leader":{},"etcd_leader":{"name":"pd-1","member_id":7648505302407388514}}`)
		got, err := c.Members(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := got.ByName("pd-1")
		if got.ClusterID != 7710496320821339760 || len(got.Members) != 2 || m == nil {
			t.Fatalf("members %+v", got)
		}
		if m.ID != 7648505302407388514 || m.LeaderPriority != 5 || m.Version != "v8.1.0" ||
			m.ClientURLs[0] != "http://c:2379" || m.PeerURLs[0] != "http://p:2380" {
			t.Errorf("member %+v", *m)
		}
		if got.Leader != nil || got.EtcdLeader == nil || got.EtcdLeader.Name != "pd-1" {
			t.Errorf("leader %v, etcd leader %v", got.Leader, got.EtcdLeader)
		}
	})
}

// The group may be replaced, member by member, while the client lives.
func TestMembersAreLearnt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 2)
		defer g.close()
		c := g.client(func(cfg *Config) { cfg.URLs = cfg.URLs[:1] })
		defer c.Close()
		g.handle("GET /pd/api/v1/members", func(w http.ResponseWriter, _ *http.Request) {
			json.NewEncoder(w).Encode(map[string]any{"members": []any{memberJSON(hostName(0)), memberJSON(hostName(1))}})
		})
		if _, err := c.Members(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.kill(0)
		g.set(func() { g.leader = hostName(1) })
		if _, err := c.ServerVersion(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestHealthWaitsForHungMembers(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.handle("GET /pd/api/v1/health", func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(6 * time.Second) // two hung members, three seconds each
			io.WriteString(w, `[{"name":"pd-0","member_id":1,"health":true},{"name":"pd-1","member_id":2,"health":false}]`)
		})
		got, err := c.Health(t.Context())
		if err != nil || len(got) != 2 || !got[0].Healthy || got[1].Healthy || got[1].Name != "pd-1" {
			t.Errorf("Health() = %+v, %v", got, err)
		}
		if n := g.count("GET /pd/api/v1/health"); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// The longer time limit is for a leader that waits for others, not for a leader that hangs itself.
func TestPatienceEndsWithTheLeadership(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		if _, err := c.Leader(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.answer("GET /pd/api/v1/members", `{"members":[]}`)
		g.set(func() { g.members[hostName(0)].hung = true })
		g.elect(1, 4*time.Second)
		start := time.Now()
		if _, err := c.Members(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > DefaultAttempt+stragglers+longPause {
			t.Errorf("answered after %v", d)
		}
	})
}

func TestTransferLeader(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		const route = "POST /pd/api/v1/leader/transfer/pd-2"
		g.handle(route, func(w http.ResponseWriter, _ *http.Request) {
			g.elect(2, 1200*time.Millisecond) // PD answers before the new leader serves
		})
		start := time.Now()
		if err := c.TransferLeader(t.Context(), "pd-2"); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < 1200*time.Millisecond || d > 1500*time.Millisecond {
			t.Errorf("returned after %v, want when pd-2 leads", d)
		}
		if err := c.TransferLeader(t.Context(), "pd-2"); err != nil {
			t.Error(err)
		}
		if n := g.count(route); n != 1 {
			t.Errorf("asked %d times, want once", n)
		}
	})
}

func TestTransferLeaderFails(t *testing.T) {
	inGroup(t, func(c *Config) { c.Budget = 10 * time.Second }, func(t *testing.T, g *group, c Client) {
		g.fail("POST /pd/api/v1/leader/transfer/pd-9", 500, `"no valid pd to transfer etcd leader"`)
		if err := c.TransferLeader(t.Context(), "pd-9"); !errors.Is(err, ErrRefused) {
			t.Errorf("unknown member: %v", err)
		}
		g.answer("POST /pd/api/v1/leader/transfer/pd-1", "")
		start := time.Now()
		err := c.TransferLeader(t.Context(), "pd-1")
		if !errors.Is(err, ErrNotReady) || time.Since(start) < 9*time.Second {
			t.Errorf("a leadership that never moves: %v after %v", err, time.Since(start))
		}
		if err := c.TransferLeader(t.Context(), "../members"); err == nil {
			t.Error("a path was taken for a name")
		}
	})
}

func TestDeleteMember(t *testing.T) {
	const unknown = `"[PD:etcd:ErrEtcdMemberRemove]etcdserver: member not found: etcdserver: member not found"`
	tests := map[string]struct {
		code int
		body string
		want error
	}{
		"deleted":           {code: 200, body: `"removed, pd: pd-1"`},
		"gone, by id":       {code: 500, body: unknown},
		"gone":              {code: 404, body: `"not found, pd: 5"`},
		"route missing":     {code: 404, body: "404 page not found\n", want: ErrRefused},
		"method missing":    {code: 405, body: "", want: ErrRefused},
		"too soon":          {code: 500, body: `"etcdserver: unhealthy cluster"`, want: ErrNotReady},
		"would lose quorum": {code: 500, body: `"etcdserver: re-configuration failed due to not enough started members"`, want: ErrNotReady},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inGroup(t, nil, func(t *testing.T, g *group, c Client) {
				g.fail("DELETE /pd/api/v1/members/id/5", test.code, test.body)
				if err := c.DeleteMember(t.Context(), 5); !errors.Is(err, test.want) {
					t.Errorf("error %v, want %v", err, test.want)
				}
			})
		})
	}
}

func TestDeleteMemberSparesTheLeader(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		leader, err := c.Leader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.DeleteMember(t.Context(), leader.ID); !errors.Is(err, ErrIsLeader) {
			t.Errorf("error %v, want ErrIsLeader", err)
		}
		if n := g.count("DELETE"); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestClusterID(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.answer("GET /pd/api/v1/cluster", fmt.Sprintf(`{"id":%d,"max_peer_count":3}`, uint64(7710496320821339760)))
		if id, err := c.ClusterID(t.Context()); err != nil || id != 7710496320821339760 {
			t.Errorf("ClusterID() = %d, %v", id, err)
		}
		g.answer("GET /pd/api/v1/cluster", `{}`)
		if _, err := c.ClusterID(t.Context()); err == nil {
			t.Error("no id is not an error")
		}
	})
}

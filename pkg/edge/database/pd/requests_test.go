package pd

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// answered are what a PD of one member answers about paths, as PD v8.1 writes it.
var answered = map[string]string{
	"/pd/api/v1/leader": `{"name":"pd-0","member_id":11,"client_urls":["URL"]}`,
	"/pd/api/v1/members": `{"header":{"cluster_id":7},"members":[{"name":"pd-0","member_id":11,"peer_urls":["http://pd-0:2380"],"client_urls":["URL"],` +
		`"leader_priority":3,"deploy_path":"/","binary_version":"v8.1.0","git_hash":"x"}],"leader":{"name":"pd-0","member_id":11,"client_urls":["URL"]},` +
		`"etcd_leader":{"name":"pd-0","member_id":11}}`,
	"/pd/api/v1/health":         `[{"name":"pd-0","member_id":11,"client_urls":["URL"],"health":true}]`,
	"/pd/api/v1/cluster":        `{"id":7,"max_peer_count":3}`,
	"/pd/api/v1/cluster/status": `{"raft_bootstrap_time":"2026-01-02T03:04:05Z","is_initialized":true}`,
	"/pd/api/v1/version":        `{"version":"v8.1.0"}`,
	"/pd/api/v1/gc/safepoint": `{"service_gc_safe_points":[{"service_id":"gc_worker","expired_at":9223372036854775807,"safe_point":5},` +
		`{"service_id":"br-1","expired_at":1767323045,"safe_point":461373440}],"min_service_gc_safe_point":5,"gc_safe_point":5}`,
	"/pd/api/v1/gc/safepoint/br-1":                            `"Delete service GC safepoint successfully."`,
	"/pd/api/v1/config/cluster-version":                       `"8.1.0"`,
	"/pd/api/v1/config/replicate":                             `{"max-replicas":3,"location-labels":"zone,host","isolation-level":"zone","enable-placement-rules":"true"}`,
	"/pd/api/v1/config/schedule":                              `{"max-store-down-time":"30m0s","schedulers-v2":[{"type":"evict-leader"}],"leader-schedule-limit":4}`,
	"/pd/api/v1/regions/count":                                `{"count":12,"regions":null}`,
	"/metrics":                                                "pd_regions_label_level{type=\"zone\"} 12\n",
	"/pd/api/v1/schedulers":                                   `["evict-leader-scheduler"]`,
	"/pd/api/v1/scheduler-config/evict-leader-scheduler/list": `{"store-id-ranges":{"4":[{"start-key":"","end-key":""}]},"batch":3}`,
	"/pd/api/v1/store/4": `{"store":{"id":4,"address":"tikv-0:20160","version":"8.1.0","status_address":"tikv-0:20180","start_timestamp":1767323045,"state_name":"Up",` +
		`"labels":[{"key":"zone","value":"a"}]},"status":{"capacity":"10GiB","available":"4GiB","leader_count":5,"region_count":6,"start_ts":"2026-01-02T03:04:05Z","last_heartbeat_ts":"2026-01-02T03:04:06Z"}}`,
}

// TestRequests: each call sends the requests by which PD knows it, and reads the answer as PD writes it.
func TestRequests(t *testing.T) {
	const loaded = "GET /pd/api/v1/schedulers; GET /pd/api/v1/config/schedule"
	for name, tc := range map[string]struct {
		call func(context.Context, Client) (any, error)
		sent string
		want string
	}{
		"members": {func(ctx context.Context, c Client) (any, error) { return c.Members(ctx) }, "GET /pd/api/v1/members",
			"&{ClusterID:7 Members:[{Name:pd-0 ID:11 PeerURLs:[http://pd-0:2380] ClientURLs:[URL] LeaderPriority:3 Version:v8.1.0}] Leader:pd-0 EtcdLeader:pd-0}"},
		"health":          {func(ctx context.Context, c Client) (any, error) { return c.Health(ctx) }, "GET /pd/api/v1/health", "[{Name:pd-0 ID:11 ClientURLs:[URL] Healthy:true}]"},
		"cluster id":      {func(ctx context.Context, c Client) (any, error) { return c.ClusterID(ctx) }, "GET /pd/api/v1/cluster", "7"},
		"cluster version": {func(ctx context.Context, c Client) (any, error) { return c.ClusterVersion(ctx) }, "GET /pd/api/v1/config/cluster-version", "8.1.0"},
		"version":         {func(ctx context.Context, c Client) (any, error) { return c.ServerVersion(ctx) }, "GET /pd/api/v1/version", "v8.1.0"},
		"replication": {func(ctx context.Context, c Client) (any, error) { return c.ReplicationConfig(ctx) }, "GET /pd/api/v1/config/replicate",
			"&{MaxReplicas:3 LocationLabels:[zone host] IsolationLevel:zone StrictlyMatchLabel:false EnablePlacementRules:true}"},
		"safepoints": {func(ctx context.Context, c Client) (any, error) {
			all, err := c.ServiceSafePoints(ctx)
			return fmt.Sprint(all[0].ID, all[0].TS, all[0].Expires.Unix(), len(all)), err
		}, "GET /pd/api/v1/gc/safepoint", "br-1461373440 1767323045 2"},
		"delete safepoint": {func(ctx context.Context, c Client) (any, error) {
			return nil, c.DeleteServiceSafePoint(ctx, "br-1")
		}, "DELETE /pd/api/v1/gc/safepoint/br-1", "<nil>"},
		"down time": {func(ctx context.Context, c Client) (any, error) { return c.MaxStoreDownTime(ctx) }, "GET /pd/api/v1/config/schedule", "30m0s"},
		"limit": {func(ctx context.Context, c Client) (any, error) {
			return nil, c.LimitLeaderMoves(ctx, 8, 2*time.Minute)
		},
			`POST /pd/api/v1/config?ttlSecond=120 {"schedule.leader-schedule-limit":8}`, "<nil>"},
		"set replication": {func(ctx context.Context, c Client) (any, error) {
			return nil, c.SetReplicationConfig(ctx, map[string]any{"max-replicas": 5})
		},
			`POST /pd/api/v1/config/replicate {"max-replicas":5}`, "<nil>"},
		"isolation": {func(ctx context.Context, c Client) (any, error) { return c.Isolation(ctx) }, "GET /pd/api/v1/regions/count; GET /metrics",
			"&{Regions:12 Apart:map[zone:12] Unsound:map[] Moving:0 Pass:0s}"},
		"store": {func(ctx context.Context, c Client) (any, error) {
			s, err := c.Store(ctx, 4)
			return fmt.Sprint(s.ID, s.Address, s.StatusAddress, s.StateName, s.Version, s.Labels, s.Capacity, s.Available, s.LeaderCount, s.RegionCount, s.StartTime.Unix(), s.LastHeartbeat.Unix()), err
		}, "GET /pd/api/v1/store/4", "4tikv-0:20160tikv-0:20180Up8.1.0map[zone:a] 10737418240 4294967296 5 6 1767323045 1767323046"},
		"delete store": {func(ctx context.Context, c Client) (any, error) { return nil, c.DeleteStore(ctx, 4) }, "DELETE /pd/api/v1/store/4", "<nil>"},
		"store state":  {func(ctx context.Context, c Client) (any, error) { return nil, c.SetStoreState(ctx, 4, StoreUp) }, "POST /pd/api/v1/store/4/state?state=Up", "<nil>"},
		"store labels": {func(ctx context.Context, c Client) (any, error) {
			return nil, c.SetStoreLabels(ctx, 4, map[string]string{"zone": "b"})
		},
			`POST /pd/api/v1/store/4/label {"zone":"b"}`, "<nil>"},
		"delete member": {func(ctx context.Context, c Client) (any, error) { return nil, c.DeleteMember(ctx, 12) }, "DELETE /pd/api/v1/members/id/12", "<nil>"},
		"schedulers":    {func(ctx context.Context, c Client) (any, error) { return c.Schedulers(ctx) }, loaded, "[evict-leader-scheduler]"},
		"evictions": {func(ctx context.Context, c Client) (any, error) { return c.EvictLeaderStores(ctx) },
			loaded + "; GET /pd/api/v1/scheduler-config/evict-leader-scheduler/list", "[4]"},
		"evict": {func(ctx context.Context, c Client) (any, error) { return nil, c.AddEvictLeader(ctx, 5) },
			`POST /pd/api/v1/schedulers {"name":"evict-leader-scheduler","store_id":5}`, "<nil>"},
		"end eviction": {func(ctx context.Context, c Client) (any, error) { return nil, c.RemoveEvictLeader(ctx, 4) },
			"DELETE /pd/api/v1/schedulers/evict-leader-scheduler-4", "<nil>"},
		"transfer": {func(ctx context.Context, c Client) (any, error) { return nil, c.TransferLeader(ctx, "pd-1") }, "POST /pd/api/v1/leader/transfer/pd-1", "<nil>"},
	} {
		var mu sync.Mutex
		var sent []string
		var url string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.URL.Path != "/pd/api/v1/leader" {
				mu.Lock()
				sent = append(sent, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+string(body)))
				mu.Unlock()
			}
			if r.Header.Get("X-Caller-ID") != "kubectl-tidb" {
				t.Errorf("%s: %s is asked by %q", name, r.URL, r.Header.Get("X-Caller-ID"))
			}
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(w, strings.ReplaceAll(answered[r.URL.Path], "URL", url))
			}
		}))
		url = server.URL
		c := New(Config{URLs: []string{url}, Dial: (&net.Dialer{}).DialContext, Budget: time.Second, Attempt: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		got, err := tc.call(ctx, c)
		cancel()
		c.Close()
		server.Close()
		text := fmt.Sprintf("%+v", got)
		if m, ok := got.(*Members); ok && err == nil {
			text = fmt.Sprintf("&{ClusterID:%d Members:%+v Leader:%s EtcdLeader:%s}", m.ClusterID, m.Members, m.Leader.Name, m.EtcdLeader.Name)
		}
		text = strings.ReplaceAll(text, url, "URL")
		t.Logf("%s: %v; %q; %s", name, err, sent, text)
		if joined := strings.Join(sent, "; "); !slices.Contains(sent, tc.sent) && joined != tc.sent {
			t.Errorf("%s sent %q, want %s", name, sent, tc.sent)
		}
		if text != tc.want {
			t.Errorf("%s: %v, %s, want %s", name, err, text, tc.want)
		}
	}
}

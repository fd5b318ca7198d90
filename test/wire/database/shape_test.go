package database

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestShapes: answers have the keys that the real components write and that the real clients read, with values of the
// same kind: PD writes its ids as numbers, the gateway of its etcd as texts, and PD writes booleans of its
// configuration as texts. A slash goes into an object, or into the first element of a list.
func TestShapes(t *testing.T) {
	m := settled(t, sim.Options{TiCDC: 1, Feeds: 1, Pump: 1, Binlog: true, TiFlash: 1, Learners: 1, Isolated: true})
	m.EvictLeaders(2)
	d := New(m)
	for _, tt := range []struct {
		of   topology.Kind
		what string
		want string
	}{
		{topology.PD, "GET /pd/api/v1/leader", "name:text member_id:number client_urls/:text"},
		{topology.PD, "GET /pd/api/v1/members", "header/cluster_id:number members/name:text members/member_id:number members/peer_urls/:text " +
			"members/client_urls/:text members/binary_version:text leader/name:text etcd_leader/member_id:number"},
		{topology.PD, "GET /pd/api/v1/health", "/name:text /member_id:number /client_urls/:text /health:boolean"},
		{topology.PD, "GET /pd/api/v1/version", "version:text"},
		{topology.PD, "GET /pd/api/v1/cluster", "id:number max_peer_count:number"},
		{topology.PD, "GET /pd/api/v1/cluster/status", "raft_bootstrap_time:text is_initialized:boolean"},
		{topology.PD, "GET /pd/api/v1/config/cluster-version", ":text"},
		{topology.PD, "GET /pd/api/v1/config", "schedule/max-store-down-time:text replication/max-replicas:number"},
		{topology.PD, "GET /pd/api/v1/config/replicate", "max-replicas:number location-labels:text isolation-level:text enable-placement-rules:text"},
		{topology.PD, "GET /pd/api/v1/config/schedule", "max-store-down-time:text leader-schedule-limit:number replica-schedule-limit:number " +
			"schedulers-v2/type:text schedulers-v2/disable:boolean enable-replace-offline-replica:text store-limit-version:text"},
		{topology.PD, "GET /pd/api/v1/config/placement-rule", "/group_id:text /group_index:number /rules/id:text /rules/role:text /rules/count:number " +
			"/rules/start_key:text /rules/location_labels/:text"},
		{topology.PD, "GET /pd/api/v1/stores", "count:number stores/store/id:number stores/store/address:text stores/store/version:text " +
			"stores/store/status_address:text stores/store/start_timestamp:number stores/store/state_name:text stores/store/labels/key:text " +
			"stores/status/capacity:text stores/status/leader_count:number stores/status/start_ts:text stores/status/last_heartbeat_ts:text"},
		{topology.PD, "GET /pd/api/v1/store/1", "store/id:number status/region_count:number"},
		{topology.PD, "GET /pd/api/v1/schedulers", "/:text"},
		{topology.PD, "GET /pd/api/v1/scheduler-config/evict-leader-scheduler/list", "store-id-ranges/2/start-key:text batch:number"},
		{topology.PD, "POST /v3/maintenance/status", "header/member_id:text leader:text raftIndex:text raftAppliedIndex:text"},
		{topology.PD, "POST /v3/cluster/member/list", "members/ID:text members/name:text members/peerURLs/:text members/clientURLs/:text"},
		{topology.PD, `POST /v3/kv/range {"key":"L3Q=","range_end":"L3U="}`, "header/cluster_id:text kvs/key:text kvs/value:text"},
		{topology.TiDB, "GET /status", "version:text git_hash:text connections:number"},
		{topology.TiCDC, "GET /status", "id:text version:text is_owner:boolean"},
		{topology.TiCDC, "GET /api/v1/captures", "/id:text /is_owner:boolean /address:text"},
		{topology.TiCDC, "GET /api/v2/changefeeds", "items/state:text"},
	} {
		method, rest, _ := strings.Cut(tt.what, " ")
		path, body, _ := strings.Cut(rest, " ")
		w := httptest.NewRecorder()
		d.Handler(tt.of, 0, ports[tt.of]).ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		var got any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
			t.Errorf("%s: %d %s, %v", tt.what, w.Code, w.Body, err)
			continue
		}
		for _, key := range strings.Fields(tt.want) {
			path, kind, _ := strings.Cut(key, ":")
			if is := kindAt(got, path); is != kind {
				t.Errorf("%s: %s is %s, not %s, in %s", tt.what, path, is, kind, w.Body)
			}
		}
	}
}

// kindAt returns the kind of what a path leads to in JSON.
func kindAt(value any, path string) string {
	switch value := value.(type) {
	case []any:
		if len(value) == 0 {
			return "an empty list"
		}
		return kindAt(value[0], strings.TrimPrefix(path, "/"))
	case map[string]any:
		key, rest, _ := strings.Cut(path, "/")
		return kindAt(value[key], rest)
	case string:
		return "text"
	case float64:
		return "number"
	case bool:
		return "boolean"
	}
	return "missing"
}

// Package answers lists what PD, TiDB and TiCDC answer to the requests of the plugin, as far as the plugin reads it.
//
// Two tests go through the list. The test of package database asks the stand-ins that serve the simulation at the wire;
// "make e2e" asks the real PD and the real TiDB of the node. So a stand-in cannot come to answer otherwise than the
// real component does.
package answers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Answer is what a member answers to one request.
type Answer struct {
	Of topology.Kind
	// Request is a method, a path and a body. {store} in it is the id of a store that PD evicts leaders from.
	Request string
	// Code is the status of HTTP; zero is 200.
	Code int
	// Keys are paths in the JSON of the answer, each with the kind of its value. A slash goes into an object or into the
	// first element of a list, and * into any value of an object. PD writes its ids as numbers and the gateway of its
	// etcd as texts.
	Keys string
	// Says is a part of the answer's text, which the plugin looks for.
	Says string
}

// All returns the list.
func All() []Answer {
	return []Answer{
		{Of: topology.PD, Request: "GET /pd/api/v1/leader", Keys: "name:text member_id:number client_urls/:text"},
		{Of: topology.PD, Request: "GET /pd/api/v1/members", Keys: "header/cluster_id:number members/name:text members/member_id:number members/peer_urls/:text " +
			"members/client_urls/:text members/binary_version:text leader/name:text etcd_leader/member_id:number"},
		{Of: topology.PD, Request: "GET /pd/api/v1/health", Keys: "/name:text /member_id:number /client_urls/:text /health:boolean"},
		{Of: topology.PD, Request: "GET /pd/api/v1/version", Keys: "version:text"},
		{Of: topology.PD, Request: "GET /pd/api/v1/cluster", Keys: "id:number max_peer_count:number"},
		{Of: topology.PD, Request: "GET /pd/api/v1/cluster/status", Keys: "raft_bootstrap_time:text is_initialized:boolean"},
		{Of: topology.PD, Request: "GET /pd/api/v1/config/cluster-version", Keys: ":text"},
		{Of: topology.PD, Request: "GET /pd/api/v1/config", Keys: "schedule/max-store-down-time:text replication/max-replicas:number"},
		{Of: topology.PD, Request: "GET /pd/api/v1/config/replicate", Keys: "max-replicas:number location-labels:text isolation-level:text enable-placement-rules:text"},
		{Of: topology.PD, Request: "GET /pd/api/v1/config/schedule", Keys: "max-store-down-time:text leader-schedule-limit:number replica-schedule-limit:number low-space-ratio:number " +
			"schedulers-v2/type:text schedulers-v2/disable:boolean enable-replace-offline-replica:text store-limit-version:text"},
		{Of: topology.PD, Request: "GET /pd/api/v1/config/placement-rule", Keys: "/group_id:text /group_index:number /rules/id:text /rules/role:text /rules/count:number " +
			"/rules/start_key:text"},
		{Of: topology.PD, Request: "GET /pd/api/v1/stores", Keys: "count:number stores/store/id:number stores/store/address:text stores/store/version:text " +
			"stores/store/status_address:text stores/store/start_timestamp:number stores/store/state_name:text " +
			"stores/status/capacity:text stores/status/leader_count:number stores/status/start_ts:text stores/status/last_heartbeat_ts:text"},
		{Of: topology.PD, Request: "GET /pd/api/v1/store/{store}", Keys: "store/id:number status/region_count:number"},
		{Of: topology.PD, Request: "GET /pd/api/v1/regions/count", Keys: "count:number"},
		{Of: topology.PD, Request: "GET /metrics", Says: `pd_regions_status{type="miss-peer-region-count"} `},
		{Of: topology.PD, Request: "GET /metrics", Says: "\npd_checker_patrol_regions_time "},
		{Of: topology.PD, Request: "GET /pd/api/v1/schedulers", Keys: "/:text"},
		{Of: topology.PD, Request: "GET /pd/api/v1/scheduler-config/evict-leader-scheduler/list", Keys: "store-id-ranges/*/start-key:text"},
		{Of: topology.PD, Request: "POST /v3/maintenance/status", Keys: "header/member_id:text leader:text raftIndex:text raftAppliedIndex:text"},
		{Of: topology.PD, Request: "POST /v3/cluster/member/list", Keys: "members/ID:text members/name:text members/peerURLs/:text members/clientURLs/:text"},
		{Of: topology.PD, Request: `POST /v3/kv/range {"key":"L3Q=","range_end":"L3U="}`, Keys: "header/cluster_id:text kvs/key:text kvs/value:text"},

		{Of: topology.PD, Request: "GET /pd/api/v1/store/999999", Code: http.StatusNotFound, Says: "not found"},
		{Of: topology.PD, Request: "DELETE /pd/api/v1/store/999999", Code: http.StatusNotFound, Says: "not found"},
		{Of: topology.PD, Request: "POST /pd/api/v1/store/999999/state?state=Up", Code: http.StatusNotFound, Says: "not found"},
		{Of: topology.PD, Request: "DELETE /pd/api/v1/schedulers/evict-leader-scheduler-999999", Code: http.StatusNotFound, Says: "null"},
		{Of: topology.PD, Request: "DELETE /pd/api/v1/members/id/999999", Code: http.StatusInternalServerError, Says: "etcdserver: member not found"},
		{Of: topology.PD, Request: "POST /pd/api/v1/leader/transfer/nobody", Code: http.StatusInternalServerError, Says: "no valid pd to transfer"},
		{Of: topology.PD, Request: `POST /pd/api/v1/schedulers {"name":"evict-leader-scheduler","store_id":999999}`, Code: http.StatusInternalServerError, Says: "999999 not found"},
		{Of: topology.PD, Request: `POST /pd/api/v1/schedulers {"name":"evict-leader-scheduler","store_id":{store}}`, Says: "scheduler"},
		{Of: topology.PD, Request: `POST /pd/api/v1/schedulers {"name":"no-scheduler"}`, Code: http.StatusBadRequest, Says: "unknown scheduler"},
		{Of: topology.PD, Request: "POST /pd/api/v1/store/{store}/state?state=Nowhere", Code: http.StatusBadRequest, Says: "invalid state Nowhere"},
		{Of: topology.PD, Request: `POST /pd/api/v1/config {"schedule.no-setting":1}`, Code: http.StatusBadRequest, Says: "not found"},
		{Of: topology.PD, Request: "GET /pd/api/v1/config/region-label/rules", Says: "["},

		{Of: topology.TiDB, Request: "GET /status", Keys: "version:text git_hash:text connections:number"},
		{Of: topology.TiDB, Request: "GET /config", Keys: "log/level:text"},
		{Of: topology.TiDB, Request: "GET /db-table/999999", Code: http.StatusBadRequest, Says: "Table which ID = 999999 does not exist"},
		{Of: topology.TiCDC, Request: "GET /status", Keys: "id:text version:text is_owner:boolean"},
		{Of: topology.TiCDC, Request: "GET /api/v1/captures", Keys: "/id:text /is_owner:boolean /address:text"},
		{Of: topology.TiCDC, Request: "GET /api/v2/changefeeds", Keys: "items/state:text"},
	}
}

// HTTP returns the method, the path and the body of the request about a store.
func (a Answer) HTTP(store uint64) (method, path, body string) {
	method, rest, _ := strings.Cut(a.Request, " ")
	path, body, _ = strings.Cut(strings.ReplaceAll(rest, "{store}", fmt.Sprint(store)), " ")
	return method, path, body
}

// Check returns how an answer differs from the list.
func (a Answer) Check(code int, body []byte) error {
	want := a.Code
	if want == 0 {
		want = http.StatusOK
	}
	if code != want || !strings.Contains(string(body), a.Says) {
		return fmt.Errorf("%s of %s: got %d %s, want %d %s", a.Request, a.Of.Title(), code, body, want, a.Says)
	}
	if a.Keys == "" {
		return nil
	}
	var got any
	if err := json.Unmarshal(body, &got); err != nil {
		return fmt.Errorf("%s of %s: %w in %s", a.Request, a.Of.Title(), err, body)
	}
	for _, key := range strings.Fields(a.Keys) {
		path, kind, _ := strings.Cut(key, ":")
		if is := kindAt(got, path); is != kind {
			return fmt.Errorf("%s of %s: got %s at %s, want %s, in %s", a.Request, a.Of.Title(), is, path, kind, body)
		}
	}
	return nil
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
		if key != "*" {
			return kindAt(value[key], rest)
		}
		for _, any := range value {
			return kindAt(any, rest)
		}
		return "an empty object"
	case string:
		return "text"
	case float64:
		return "number"
	case bool:
		return "boolean"
	}
	return "missing"
}

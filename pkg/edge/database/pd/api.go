package pd

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// The paths of PD's API.
const (
	pathMembers         = "/pd/api/v1/members"
	pathLeader          = "/pd/api/v1/leader"
	pathHealth          = "/pd/api/v1/health"
	pathVersion         = "/pd/api/v1/version"
	pathCluster         = "/pd/api/v1/cluster"
	pathClusterStatus   = "/pd/api/v1/cluster/status"
	pathConfig          = "/pd/api/v1/config"
	pathClusterVersion  = "/pd/api/v1/config/cluster-version"
	pathScheduleConfig  = "/pd/api/v1/config/schedule"
	pathReplicateConfig = "/pd/api/v1/config/replicate"
	pathRuleBundle      = "/pd/api/v1/config/placement-rule"
	pathRegionLabels    = "/pd/api/v1/config/region-label/rules"
	pathStores          = "/pd/api/v1/stores"
	pathRegionCount     = "/pd/api/v1/regions/count"
	pathSchedulers      = "/pd/api/v1/schedulers"
	pathSchedulerConfig = "/pd/api/v1/scheduler-config"
	pathServiceMembers  = "/pd/api/v2/ms/members/"
	pathServicePrimary  = "/pd/api/v2/ms/primary/"
	pathMetrics         = "/metrics" // of the member that is asked
)

// pathStore returns the path of a store.
func pathStore(id uint64) string { return fmt.Sprintf("/pd/api/v1/store/%d", id) }

// memberInfo is a member as PD writes it.
type memberInfo struct {
	Name           string   `json:"name"`
	MemberID       uint64   `json:"member_id"`
	PeerURLs       []string `json:"peer_urls"`
	ClientURLs     []string `json:"client_urls"`
	LeaderPriority int32    `json:"leader_priority"`
	BinaryVersion  string   `json:"binary_version"`
}

// membersInfo is the list of members as PD writes the list. During an election the leader is missing or empty.
type membersInfo struct {
	Header struct {
		ClusterID uint64 `json:"cluster_id"`
	} `json:"header"`
	Members    []memberInfo `json:"members"`
	Leader     memberInfo   `json:"leader"`
	EtcdLeader memberInfo   `json:"etcd_leader"`
}

// healthInfo is the health of a member as PD writes it.
type healthInfo struct {
	Name       string   `json:"name"`
	MemberID   uint64   `json:"member_id"`
	ClientURLs []string `json:"client_urls"`
	Health     bool     `json:"health"`
}

// storeInfo is a store as PD writes it.
type storeInfo struct {
	Store struct {
		ID             int64  `json:"id"`
		Address        string `json:"address"`
		State          int64  `json:"state"`
		StateName      string `json:"state_name"`
		Version        string `json:"version"`
		StatusAddress  string `json:"status_address"`
		StartTimestamp int64  `json:"start_timestamp"`
		Labels         []struct {
			Key   string `json:"key"`
			Value string `json:"value"`
		} `json:"labels"`
	} `json:"store"`
	Status storeStatus `json:"status"`
}

// storeStatus is what a store has reported to PD.
type storeStatus struct {
	Capacity        string    `json:"capacity"`
	Available       string    `json:"available"`
	UsedSize        string    `json:"used_size"`
	LeaderCount     int64     `json:"leader_count"`
	RegionCount     int64     `json:"region_count"`
	RegionWeight    *float64  `json:"region_weight"`
	StartTS         time.Time `json:"start_ts"`
	LastHeartbeatTS time.Time `json:"last_heartbeat_ts"`
}

// get returns what a member answers about a path. Each answer is decoded on its own, so that nothing stays of an
// earlier answer that was cut off.
func get[T any](ctx context.Context, m member, path string) (T, error) {
	var out T
	err := m.raw(ctx, request{method: http.MethodGet, path: path, out: &out})
	return out, err
}

// post has a member change something.
func (m member) post(ctx context.Context, path string, body any) error {
	return m.raw(ctx, request{method: http.MethodPost, path: path, body: body})
}

// remove has a member delete something.
func (m member) remove(ctx context.Context, path string) error {
	return m.raw(ctx, request{method: http.MethodDelete, path: path})
}

package pd

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"testing"
)

// TestScheduling: what keeps PD from moving leaders and regions is read from its configuration, whose booleans are
// strings, and from its scheduler. What an older PD does not say is not 0.
func TestScheduling(t *testing.T) {
	schedulers := []any{map[string]any{"type": "balance-leader", "disable": false}, map[string]any{"type": "balance-region", "disable": false}}
	for name, tc := range map[string]struct {
		conf   map[string]any
		own    map[string]any // of the evict-leader scheduler; nil where there is none
		paused string
		want   Scheduling
	}{
		"v6.5": {conf: map[string]any{"leader-schedule-limit": 4, "replica-schedule-limit": 64, "region-schedule-limit": 2048, "tolerant-size-ratio": 0, "low-space-ratio": 0.7, "enable-replace-offline-replica": "true",
			"store-limit": map[string]any{"1": map[string]any{"add-peer": 15, "remove-peer": 15}}},
			own: map[string]any{"store-id-ranges": map[string]any{"1": []any{}}}, paused: "null",
			want: Scheduling{Evicting: []uint64{1}, Batch: -1, LeaderLimit: 4, ReplicaLimit: 64, RegionLimit: 2048, Tolerance: 0, LowSpaceRatio: 0.7}},
		"nothing moves": {conf: map[string]any{"leader-schedule-limit": 0, "replica-schedule-limit": 0, "region-schedule-limit": 0, "tolerant-size-ratio": 20.5, "halt-scheduling": "true", "enable-replace-offline-replica": "false",
			"store-limit": map[string]any{"4": map[string]any{"add-peer": 0, "remove-peer": 15}, "2": map[string]any{"add-peer": 0, "remove-peer": 0}}, "store-limit-version": "v1"},
			own: map[string]any{"store-id-ranges": map[string]any{"2": []any{}, "1": []any{}}, "batch": 0}, paused: `["balance-leader-scheduler", "evict-leader-scheduler"]`,
			want: Scheduling{Evicting: []uint64{1, 2}, Paused: true, Halted: true, KeepsOffline: true, NoAdding: []uint64{2, 4}, NoRemoving: []uint64{2}, Tolerance: 20}},
		"limits of the second version": {conf: map[string]any{"store-limit-version": "v2", "store-limit": map[string]any{"4": map[string]any{"add-peer": 0, "remove-peer": 0}}},
			want: Scheduling{Batch: -1, LeaderLimit: -1, ReplicaLimit: -1, RegionLimit: -1, Tolerance: -1}},
		"others are paused": {own: map[string]any{"store-id-ranges": map[string]any{"1": []any{}}, "batch": 3}, paused: `["balance-leader-scheduler"]`,
			want: Scheduling{Evicting: []uint64{1}, Batch: 3, LeaderLimit: -1, ReplicaLimit: -1, RegionLimit: -1, Tolerance: -1}},
		"no scheduler for balance": {conf: map[string]any{"schedulers-v2": []any{map[string]any{"type": "balance-region", "disable": true}, map[string]any{"type": "hot-region"}}},
			want: Scheduling{Batch: -1, LeaderLimit: -1, ReplicaLimit: -1, RegionLimit: -1, Tolerance: -1, NoBalancer: true}},
	} {
		inGroup(t, nil, func(t *testing.T, g *group, c Client) {
			g.handle("GET /pd/api/v1/schedulers", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("status") == "paused" {
					io.WriteString(w, tc.paused)
					return
				}
				running := []string{"balance-leader-scheduler", BalanceRegion}
				if tc.own != nil {
					running = append(running, evictLeader)
				}
				json.NewEncoder(w).Encode(running)
			})
			conf := map[string]any{"schedulers-v2": schedulers}
			for k, v := range tc.conf {
				conf[k] = v
			}
			g.handle("GET /pd/api/v1/config/schedule", func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(conf) })
			g.handle("GET /pd/api/v1/scheduler-config/evict-leader-scheduler/list", func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(tc.own) })
			got, err := c.Scheduling(t.Context())
			if err != nil || !reflect.DeepEqual(*got, tc.want) {
				t.Errorf("%s: got %+v, %v\nwant %+v", name, got, err, tc.want)
			}
		})
	}
}

// TestDeniedRanges: only labels that deny scheduling count. A PD without labels has none.
func TestDeniedRanges(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.handle("GET /pd/api/v1/config/region-label/rules", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `[{"id":"schema/a","labels":[{"key":"merge_option","value":"deny"}]},
				{"id":"import/2","labels":[{"key":"db","value":"x"},{"key":"schedule","value":"DENY","ttl":"5m0s"}],"rule_type":"key-range","data":[{"start_key":"","end_key":""}]},
				{"id":"import/1","labels":[{"key":"schedule","value":"deny"}]},{"id":"b","labels":[{"key":"schedule","value":"allow"}]}]`)
		})
		if got, err := c.DeniedRanges(t.Context()); err != nil || !reflect.DeepEqual(got, []string{"import/1", "import/2"}) {
			t.Errorf("%q, %v", got, err)
		}
	})
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.handle("GET /pd/api/v1/config/region-label/rules", http.NotFound)
		if got, err := c.DeniedRanges(t.Context()); err != nil || len(got) > 0 {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestSetEvictBatch: PD is asked for its own default, for a store that the scheduler has.
func TestSetEvictBatch(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		var got map[string]any
		g.handle("POST /pd/api/v1/scheduler-config/evict-leader-scheduler/config", func(_ http.ResponseWriter, r *http.Request) {
			json.NewDecoder(r.Body).Decode(&got)
		})
		if err := c.SetEvictBatch(t.Context(), 2); err != nil || got["store_id"] != 2. || got["batch"] != 3. {
			t.Errorf("%v, %v", got, err)
		}
	})
}

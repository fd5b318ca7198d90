package pd

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"testing"
	"time"
)

const storesBody = `{"count":3,"stores":[
	{"store":{"id":1,"address":"tikv-0:20160","status_address":"tikv-0:20180","version":"8.1.0","state_name":"Down",
	  "labels":[{"key":"zone","value":"a"}]},
	 "status":{"leader_count":3,"region_count":9,"region_weight":0.5,"capacity":"97.93GiB","available":"512MiB","start_ts":"2026-01-02T03:04:05Z","last_heartbeat_ts":"2026-01-02T04:00:00.5+01:00"}},
	{"store":{"id":2,"address":"tikv-1:20160","state":1,"start_timestamp":100},"status":{"region_weight":0,"capacity":"0B","available":"0B","last_heartbeat_ts":"1970-01-01T00:00:00Z"}},
	{"store":{"id":3,"address":"tikv-2:20160","state":2,"state_name":"Tombstone"},"status":{"capacity":"1TiB","available":"?","start_ts":"0001-01-01T00:00:00Z"}}]}`

func TestStores(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		var query string
		g.handle("GET /pd/api/v1/stores", func(w http.ResponseWriter, r *http.Request) {
			query = r.URL.RawQuery
			w.Header().Set("Date", "Fri, 02 Jan 2026 03:00:07 GMT")
			io.WriteString(w, storesBody)
		})
		got, err := c.Stores(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if query != "state=0&state=1&state=2" {
			t.Errorf("query %q", query)
		}
		if got[0].LastHeartbeat.IsZero() || !got[0].LastHeartbeat.Equal(time.Date(2026, 1, 2, 3, 0, 0, 5e8, time.UTC)) {
			t.Errorf("last heartbeat %v", got[0].LastHeartbeat)
		}
		got[0].LastHeartbeat = time.Time{}
		for i := range got {
			if !got[i].Answered.Equal(time.Date(2026, 1, 2, 3, 0, 7, 0, time.UTC)) {
				t.Errorf("answered %v", got[i].Answered)
			}
			got[i].Answered = time.Time{}
		}
		want := []Store{
			{ID: 1, Address: "tikv-0:20160", StatusAddress: "tikv-0:20180", State: StoreUp, StateName: "Down", Version: "8.1.0",
				Labels: map[string]string{"zone": "a"}, LeaderCount: 3, RegionCount: 9, RegionWeight: 0.5, Capacity: 105151536825, Available: 512 << 20,
				StartTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
			{ID: 2, Address: "tikv-1:20160", State: StoreOffline, StateName: "Offline", Labels: map[string]string{}, NoRegions: true,
				StartTime: time.Unix(100, 0)},
			{ID: 3, Address: "tikv-2:20160", State: StoreTombstone, StateName: "Tombstone", Labels: map[string]string{}},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("Stores() =\n%+v\nwant\n%+v", got, want)
		}
		if got[0].Healthy() {
			t.Error("a store that is Down is healthy")
		}
		if _, err := c.Stores(t.Context(), StoreTombstone); err != nil || query != "state=2" {
			t.Errorf("query %q, error %v", query, err)
		}
	})
}

func TestStoreNotFound(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.fail("GET /pd/api/v1/store/9", 404, `"store 9 not found"`)
		if _, err := c.Store(t.Context(), 9); !errors.Is(err, ErrNotFound) {
			t.Errorf("error %v, want ErrNotFound", err)
		}
	})
}

func TestSetStoreState(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		var query string
		g.handle("POST /pd/api/v1/store/4/state", func(_ http.ResponseWriter, r *http.Request) { query = r.URL.RawQuery })
		if err := c.SetStoreState(t.Context(), 4, StoreUp); err != nil || query != "state=Up" {
			t.Errorf("query %q, error %v", query, err)
		}
		if err := c.SetStoreState(t.Context(), 4, StoreTombstone); err == nil {
			t.Error("a tombstone was set")
		}
	})
}

const notBootstrapped = `"[PD:cluster:ErrNotBootstrapped]TiKV cluster not bootstrapped, please start TiKV first"`

func TestNotBootstrapped(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.fail("GET /pd/api/v1/stores", 500, notBootstrapped)
		g.answer("GET /pd/api/v1/cluster/status", `{"raft_bootstrap_time":"0001-01-01T00:00:00Z"}`)
		start := time.Now()
		_, err := c.Stores(t.Context())
		if !errors.Is(err, ErrNotBootstrapped) || isOneOf(err, ErrRefused, ErrNotReady) || time.Since(start) > 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// A cluster with stores says "not bootstrapped" for a moment after a leader change.
func TestNotBootstrappedForAMoment(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.fail("GET /pd/api/v1/stores", 500, notBootstrapped)
		g.answer("GET /pd/api/v1/cluster/status", `{"raft_bootstrap_time":"2026-01-01T00:00:00Z"}`)
		time.AfterFunc(200*time.Millisecond, func() { g.answer("GET /pd/api/v1/stores", storesBody) })
		if got, err := c.Stores(t.Context()); err != nil || len(got) != 3 {
			t.Errorf("Stores() = %v, %v", got, err)
		}
		g.fail("GET /pd/api/v1/stores", 500, notBootstrapped)
		_, err := c.Stores(t.Context())
		if !errors.Is(err, ErrNotReady) || errors.Is(err, ErrNotBootstrapped) {
			t.Errorf("error %v, want ErrNotReady alone", err)
		}
	})
}

func TestReplicationConfig(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.answer("GET /pd/api/v1/config/replicate", `{"max-replicas":3,"location-labels":"zone,host",
			"strictly-match-label":"false","enable-placement-rules":"true","isolation-level":"zone"}`)
		got, err := c.ReplicationConfig(t.Context())
		want := &ReplicationConfig{MaxReplicas: 3, LocationLabels: []string{"zone", "host"}, IsolationLevel: "zone",
			EnablePlacementRules: true}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ReplicationConfig() = %+v, %v", got, err)
		}
		g.answer("GET /pd/api/v1/config/replicate", `{"location-labels":""}`)
		if got, err := c.ReplicationConfig(t.Context()); err == nil {
			t.Errorf("missing max-replicas is taken for %d", got.MaxReplicas)
		}
		var body []byte
		g.handle("POST /pd/api/v1/config/replicate", func(_ http.ResponseWriter, r *http.Request) {
			body, _ = io.ReadAll(r.Body)
		})
		err = c.SetReplicationConfig(t.Context(), map[string]any{"max-replicas": 5})
		if err != nil || string(body) != `{"max-replicas":5}` {
			t.Errorf("body %s, error %v", body, err)
		}
	})
}

func TestMessageOf(t *testing.T) {
	for body, want := range map[string]string{
		`"store 4 not found"` + "\n":                           "store 4 not found",
		"404 page not found\n":                                 "404 page not found",
		`"no such store""The scheduler is created."`:           "no such store",
		`"\"[PD:core:ErrStoreNotFound]store 99 not found\"\n"`: "[PD:core:ErrStoreNotFound]store 99 not found",
		"":               "",
		`{"error":"x"}`:  `{"error":"x"}`,
		"\"unterminated": "\"unterminated",
	} {
		if got, _ := messageOf([]byte(body)); got != want {
			t.Errorf("messageOf(%q) = %q, want %q", body, got, want)
		}
	}
}

func TestBadAnswerIsFinal(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.answer("GET /pd/api/v1/stores", `<html>`)
		start := time.Now()
		_, err := c.Stores(t.Context())
		if err == nil || isOneOf(err, ErrUnreachable, ErrNoLeader, ErrRefused) || time.Since(start) > 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

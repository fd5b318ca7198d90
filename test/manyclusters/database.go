package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"time"
)

// database answers for PD, TiKV and TiDB of all clusters, all of them well. Which
// cluster is asked is the host's first part: many-0007-pd-0 or many-0007-tidb-1.
type database struct {
	namespace string
	size
}

// size is how many members a cluster has.
type size struct{ pd, tikv, tidb int }

// each returns what f returns for each member.
func each(n int, f func(int) map[string]any) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = f(i)
	}
	return all
}

func (d database) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pod, _, _ := strings.Cut(r.Host, ".")
	parts := strings.Split(pod, "-")
	if len(parts) < 3 {
		http.Error(w, "no such host", http.StatusNotFound)
		return
	}
	c := cluster{strings.Join(parts[:len(parts)-2], "-"), d.namespace}
	var answer any
	switch path := r.URL.Path; path {
	case "/status":
		answer = map[string]any{"version": "8.0.11-TiDB-v8.1.0", "connections": 0}
	case "/pd/api/v1/leader":
		answer = c.member(0)
	case "/pd/api/v1/members":
		answer = map[string]any{
			"header":  map[string]any{"cluster_id": c.id()},
			"members": each(d.pd, c.member), "leader": c.member(0), "etcd_leader": c.member(0),
		}
	case "/pd/api/v1/health":
		answer = each(d.pd, c.health)
	case "/pd/api/v1/config/replicate":
		answer = map[string]any{"max-replicas": 3, "location-labels": "", "enable-placement-rules": "true"}
	case "/pd/api/v1/config/schedule":
		answer = map[string]any{"max-store-down-time": "30m0s", "schedulers-v2": []any{
			map[string]any{"type": "balance-region"}, map[string]any{"type": "balance-leader"}, map[string]any{"type": "hot-region"},
		}}
	case "/pd/api/v1/stores":
		answer = map[string]any{"count": d.tikv, "stores": each(d.tikv, c.store)}
	case "/pd/api/v1/schedulers":
		answer = []string{"balance-region-scheduler", "balance-leader-scheduler", "balance-hot-region-scheduler"}
	default:
		http.Error(w, "not answered here: "+path, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

type cluster struct{ name, namespace string }

// id is PD's for the cluster.
func (c cluster) id() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.name))
	return h.Sum64() >> 1
}

func (c cluster) host(component string, n int) string {
	return fmt.Sprintf("%s-%s-%d.%s-%s-peer.%s.svc", c.name, component, n, c.name, component, c.namespace)
}

func (c cluster) member(n int) map[string]any {
	return map[string]any{
		"name": fmt.Sprintf("%s-pd-%d", c.name, n), "member_id": c.id() + uint64(n),
		"peer_urls":   []string{"http://" + c.host("pd", n) + ":2380"},
		"client_urls": []string{"http://" + c.host("pd", n) + ":2379"}, "binary_version": version,
	}
}

func (c cluster) health(n int) map[string]any {
	m := c.member(n)
	return map[string]any{"name": m["name"], "member_id": m["member_id"], "client_urls": m["client_urls"], "health": true}
}

func (c cluster) store(n int) map[string]any {
	now := time.Now().Format(time.RFC3339Nano)
	return map[string]any{
		"store": map[string]any{
			"id": n + 1, "address": c.host("tikv", n) + ":20160", "version": strings.TrimPrefix(version, "v"),
			"status_address": c.host("tikv", n) + ":20180", "state_name": "Up", "node_state": 1,
		},
		"status": map[string]any{"leader_count": 10, "region_count": 30, "last_heartbeat_ts": now, "start_ts": now},
	}
}

const version = "v8.1.0"

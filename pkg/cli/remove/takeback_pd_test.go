package remove

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
)

// placementDriver is a PD of one member with four stores, which keeps evictions and states of stores.
type placementDriver struct {
	mu       sync.Mutex
	id       uint64
	evicting map[uint64]bool
	offline  map[uint64]bool
	silent   bool
	// guest is the state of a store of another TidbCluster, which nothing here records, "" for none.
	guest string
	// refuses is a request that PD answers with an error, such as "DELETE".
	refuses string
	writes  []string
}

// ServeHTTP implements http.Handler.
func (p *placementDriver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent {
		http.Error(w, "no leader", http.StatusServiceUnavailable)
		return
	}
	if r.Method != http.MethodGet {
		p.writes = append(p.writes, r.Method+" "+r.URL.RequestURI())
		if r.Method == p.refuses {
			http.Error(w, "refused", http.StatusInternalServerError)
			return
		}
		p.write(r)
		_, _ = w.Write([]byte(`"ok"`))
		return
	}
	answer, known := p.answers()[r.URL.Path]
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// write takes a store out of the scheduler, or brings one back up.
func (p *placementDriver) write(r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, "/pd/api/v1/schedulers/evict-leader-scheduler-"); ok {
		id, _ := strconv.ParseUint(name, 10, 64)
		delete(p.evicting, id)
	}
	if r.URL.Query().Get("state") == "Up" {
		id, _ := strconv.ParseUint(strings.Split(r.URL.Path, "/")[5], 10, 64)
		delete(p.offline, id)
	}
}

func (p *placementDriver) answers() map[string]any {
	host := "http://basic-pd-0.basic-pd-peer.db.svc:"
	member := map[string]any{"name": "basic-pd-0", "member_id": 1, "peer_urls": []string{host + "2380"}, "client_urls": []string{host + "2379"}, "binary_version": "v8.1.0"}
	schedulers, kinds := []string{"balance-leader-scheduler"}, []any{map[string]any{"type": "balance-leader"}}
	if len(p.evicting) > 0 {
		schedulers, kinds = append(schedulers, "evict-leader-scheduler"), append(kinds, map[string]any{"type": "evict-leader"})
	}
	ranges := map[string]any{}
	for id := range p.evicting {
		ranges[fmt.Sprint(id)] = []any{}
	}
	var stores []any
	answers := map[string]any{
		"/pd/api/v1/leader":           member,
		"/pd/api/v1/members":          map[string]any{"header": map[string]any{"cluster_id": p.id}, "members": []any{member}, "leader": member, "etcd_leader": member},
		"/pd/api/v1/health":           []any{map[string]any{"name": "basic-pd-0", "member_id": 1, "client_urls": []string{host + "2379"}, "health": true}},
		"/pd/api/v1/cluster":          map[string]any{"id": p.id},
		"/pd/api/v1/config/replicate": map[string]any{"max-replicas": 3, "enable-placement-rules": "true"},
		"/pd/api/v1/config/schedule":  map[string]any{"max-store-down-time": "30m0s", "schedulers-v2": kinds},
		"/pd/api/v1/schedulers":       schedulers,
		"/pd/api/v1/scheduler-config/evict-leader-scheduler/list": map[string]any{"store-id-ranges": ranges, "batch": 3},
	}
	for n := range 5 {
		id, name, state := uint64(n+1), "Up", 0
		if n == 4 && p.guest == "" {
			break
		}
		if p.offline[id] {
			name, state = "Offline", 1
		}
		now := time.Now().Format(time.RFC3339Nano)
		addr := fmt.Sprintf("basic-tikv-%d.basic-tikv-peer.db.svc:", n)
		if n == 4 {
			addr, name = "guest-tikv-0.guest-tikv-peer.other.svc:", p.guest
		}
		s := map[string]any{
			"store":  map[string]any{"id": id, "address": addr + "20160", "status_address": addr + "20180", "version": "8.1.0", "state": state, "state_name": name},
			"status": map[string]any{"leader_count": 10, "region_count": 30, "last_heartbeat_ts": now, "start_ts": now},
		}
		stores = append(stores, s)
		answers[fmt.Sprintf("/pd/api/v1/store/%d", id)] = s
	}
	answers["/pd/api/v1/stores"] = map[string]any{"count": len(stores), "stores": stores}
	return answers
}

// only connects to one address.
type only string

func (o only) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, string(o))
}

func (only) Close() error { return nil }

// running is a cluster on an API server in memory, with what its ledger has.
type running struct {
	deletion
	factory *factory.Factory
	pd      *placementDriver
}

// labelled are the labels of all objects of the cluster.
const labelled = `"app.kubernetes.io/name": "tidb-cluster", "app.kubernetes.io/managed-by": "tidb-operator", "app.kubernetes.io/instance": "basic"`

func runs(t *testing.T, p *placementDriver, book map[string]string) *running {
	t.Helper()
	api := memoryapi.New()
	f := factory.New(genericiooptions.NewTestIOStreamsDiscard(), func(string) string { return "" }, "test")
	f.Flags.APIServer = new("http://api")
	f.Flags.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.Transport = memoryapi.Transport{Handler: api}
		return c
	}
	put(t, api, "/apis/pingcap.com/v1alpha1/namespaces/db/tidbclusters", `{"apiVersion": "pingcap.com/v1alpha1", "kind": "TidbCluster",
		"metadata": {"namespace": "db", "name": "basic"}, "spec": {"version": "v8.1.0", "timezone": "UTC",
			"pd": {"baseImage": "pingcap/pd", "replicas": 1, "requests": {"storage": "1Gi"}, "config": {}},
			"tikv": {"baseImage": "pingcap/tikv", "replicas": 4, "requests": {"storage": "1Gi"}, "config": {}},
			"tidb": {"baseImage": "pingcap/tidb", "replicas": 0, "config": {}}}}`)
	pods := map[string]int{"pd": 1, "tikv": 4}
	for component, replicas := range pods {
		put(t, api, "/apis/apps/v1/namespaces/db/statefulsets", fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata":
			{"namespace": "db", "name": "basic-%s", "labels": {"app.kubernetes.io/component": %[1]q, `+labelled+`}},
			"spec": {"replicas": %d, "podManagementPolicy": "Parallel", "volumeClaimTemplates": [{"metadata": {"name": %[1]q},
				"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}`, component, replicas))
		for n := range replicas {
			put(t, api, "/api/v1/namespaces/db/pods", fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata":
				{"namespace": "db", "name": "basic-%s-%d", "labels": {"app.kubernetes.io/component": %[1]q, `+labelled+`}},
				"spec": {"containers": [{"name": %[1]q, "image": "pingcap/%[1]s:v8.1.0"}]},
				"status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}],
					"containerStatuses": [{"name": %[1]q, "ready": true, "state": {"running": {"startedAt": "2026-03-01T12:00:00Z"}}}]}}`, component, n))
		}
	}
	if book != nil {
		data, err := json.Marshal(book)
		if err != nil {
			t.Fatal(err)
		}
		put(t, api, "/api/v1/namespaces/db/configmaps", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata":
			{"namespace": "db", "name": "basic-ledger", "labels": {`+labelled+`}}, "data": `+string(data)+`}`)
	}
	s, err := target.Connect(f, "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	s.Dialer = dial.Any(only(server.Listener.Addr().String()))
	s.Observer = s.Connections.Observer("db", "basic")
	d := &running{factory: f, pd: p, deletion: deletion{session: s, remains: remains{kube: s.Kube, say: func(string) {}}}}
	d.tc, err = s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.cluster = topology.New(d.tc)
	return d
}

// put makes an object in a collection.
func put(t *testing.T, api http.Handler, collection, text string) {
	t.Helper()
	client := http.Client{Transport: memoryapi.Transport{Handler: api}}
	answer, err := client.Post("http://api"+collection, "application/json", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body.Close(); answer.StatusCode != http.StatusCreated {
		t.Fatal(collection, answer.StatusCode)
	}
}

// recorded returns the keys of the open records.
func (d *running) recorded(t *testing.T) []string {
	t.Helper()
	book, err := d.kube.CoreV1().ConfigMaps("db").Get(context.WithoutCancel(t.Context()), "basic-ledger", metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(book.Data))
}

// TestTakeBack: before the pods of PD go, evictions and removals of ours end in PD, and their records with them. What
// another user has done in PD stays, and so does what is not ours to judge. Where it cannot be ended, the record stays.
func TestTakeBack(t *testing.T) {
	const id = 7
	ours := func(member string, cluster uint64) string {
		return fmt.Sprintf(`{"member":%q,"since":"2026-03-01T12:00:00Z","owner":"a run that was killed","cluster":"%d"}`, member, cluster)
	}
	all := map[string]string{"evict-leader.2": ours("basic-tikv-1", id), "remove-store.4": ours("basic-tikv-3", id)}
	none := []string{}
	for name, c := range map[string]struct {
		book     map[string]string
		silent   bool   // PD does not answer
		refuses  string // requests that PD refuses
		evicting []uint64
		offline  []uint64
		left     []string
		writes   int
	}{
		"ours":               {all, false, "", nil, nil, none, 2},
		"no ledger":          {nil, false, "", []uint64{2}, []uint64{4}, nil, 0},
		"another user's":     {map[string]string{"remove-store.4": all["remove-store.4"]}, false, "", []uint64{2}, nil, none, 1},
		"foreign scheduler":  {map[string]string{"evict-leader.2": strings.Replace(all["evict-leader.2"], "{", `{"foreign":true,`, 1)}, false, "", []uint64{2}, []uint64{4}, none, 0},
		"PD does not answer": {all, true, "", []uint64{2}, []uint64{4}, []string{"evict-leader.2", "remove-store.4"}, 0},
		"of another PD": {
			map[string]string{"evict-leader.2": ours("basic-tikv-1", id+1), "remove-store.4": ours("basic-tikv-3", id+1)}, false, "",
			[]uint64{2}, []uint64{4}, []string{"evict-leader.2", "remove-store.4"}, 0,
		},
		"PD refuses the eviction's end": {all, false, http.MethodDelete, []uint64{2}, nil, []string{"evict-leader.2"}, 2},
		"PD refuses the store":          {all, false, http.MethodPost, nil, []uint64{4}, []string{"remove-store.4"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := &placementDriver{id: id, silent: c.silent, refuses: c.refuses, evicting: map[uint64]bool{2: true}, offline: map[uint64]bool{4: true}}
			d := runs(t, p, c.book)
			d.takeBack(t.Context(), d.factory)
			d.check(t, c.evicting, c.offline, c.left)
			if len(p.writes) != c.writes {
				t.Errorf("written to PD: %q, want %d requests", p.writes, c.writes)
			}
		})
	}
}

func (d *running) check(t *testing.T, evicting, offline []uint64, left []string) {
	t.Helper()
	d.pd.mu.Lock()
	defer d.pd.mu.Unlock()
	if got := slices.Sorted(maps.Keys(d.pd.evicting)); !slices.Equal(got, evicting) {
		t.Errorf("leaders are evicted from %v, want %v", got, evicting)
	}
	if got := slices.Sorted(maps.Keys(d.pd.offline)); !slices.Equal(got, offline) {
		t.Errorf("offline are %v, want %v", got, offline)
	}
	if got := d.recorded(t); !slices.Equal(got, left) {
		t.Errorf("recorded are %q, want %q", got, left)
	}
}

// TestTakeBackInterrupted: a deletion that is interrupted before PD is asked changes nothing, and the records stay.
func TestTakeBackInterrupted(t *testing.T) {
	p := &placementDriver{id: 7, evicting: map[uint64]bool{2: true}, offline: map[uint64]bool{4: true}}
	d := runs(t, p, map[string]string{"evict-leader.2": `{"member":"basic-tikv-1","since":"2026-03-01T12:00:00Z","owner":"x","cluster":"7"}`})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.takeBack(ctx, d.factory)
	d.check(t, []uint64{2}, []uint64{4}, []string{"evict-leader.2"})
	if len(p.writes) > 0 {
		t.Errorf("written to PD: %q", p.writes)
	}
}

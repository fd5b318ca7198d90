package observe

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// network is a Dialer that connects every address to one server.
type network struct {
	to     string
	onDial func() // is called for each connection that is made; may be nil
	mu     sync.Mutex
	dialed []string
	told   int // how many pods it knows
}

func (n *network) Tell(pods []*corev1.Pod) func() {
	n.told += len(pods)
	return func() { n.told -= len(pods) }
}

func (n *network) DialContext(ctx context.Context, proto, addr string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, addr)
	n.mu.Unlock()
	if n.onDial != nil {
		n.onDial()
	}
	return new(net.Dialer).DialContext(ctx, proto, n.to)
}

func (n *network) Close() error { return nil }

// reached reports whether an address was dialed since the last call.
func (n *network) reached(addr string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer func() { n.dialed = nil }()
	return slices.Contains(n.dialed, addr)
}

// TestWholeObservation: one observation of a cluster that runs, with all requests to members.
func TestWholeObservation(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	defer server.Close()
	dialer := &network{to: server.Listener.Addr().String()}
	tc := small()
	tc.Spec.TiKV.Requests = amount("20Gi")
	c := topology.New(tc)
	owned := func(k topology.Kind, p *corev1.Pod) *corev1.Pod {
		p.Namespace, p.Labels, p.Spec.NodeName = "db", c.Labels(k), "n"
		return p
	}
	claim := boundClaim(0)
	claim.Namespace, claim.Labels, claim.Spec.StorageClassName = "db", c.Labels(topology.TiKV), new("fast")
	claim.Spec.Resources.Requests = amount("10Gi")
	kube := fake.NewClientset([]runtime.Object{
		owned(topology.PD, runningPod(topology.PD, "basic-pd-0")), owned(topology.TiKV, runningPod(topology.TiKV, "basic-tikv-0")),
		owned(topology.TiDB, runningPod(topology.TiDB, "basic-tidb-0")), &claim, volumeOf(claim),
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, AllowVolumeExpansion: new(true)},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "a"}}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "of-basic", Labels: c.Selector()}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "of-basic", Labels: c.Selector()}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: c.BootstrapMap()}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic-tikv-5"}}, // it does not have the labels
	}...)
	f := pd.NewFake(1, 1)
	f.Update(func(s *pd.FakeState) {
		s.Replication.LocationLabels = []string{"zone"}
		s.Stores[0].Address, s.Stores[0].LastHeartbeat = kvHost, noon.Add(time.Hour)
		s.Members[0].Name, s.Leader = "basic-pd-0", "basic-pd-0"
		s.Members[0].PeerURLs, s.Members[0].ClientURLs = []string{peer("pd", "0", "2380")}, []string{peer("pd", "0", "2379")}
	})
	now := noon
	o := New(kube, dial.Any(dialer), func(context.Context) (*v1alpha1.TidbCluster, error) { return tc, nil }, func() time.Time { return now })
	calls := 0
	o.OnPDCall(func(string, time.Duration, error) { calls++ })
	o.ReadForUpkeep(Fresh)
	o.identify(c, credentials{})
	o.pd, o.urls = f, []string{peer("pd", "0", "2379")}
	seen, err := o.Observe(t.Context(), true)
	s := seen.Snapshot
	if err != nil || !s.PD.Known() || !s.PD.LeaderSince.Equal(noon) {
		t.Fatalf("%+v, %v", s.PD, err)
	}
	if e := seen.Existing; e.Services["of-basic"] == nil || e.ConfigMaps["of-basic"] == nil || !e.HasDiscoveryDeployment {
		t.Errorf("existing %+v", e)
	}
	if n := len(s.Groups[topology.TiKV].Members); n != 1 {
		t.Errorf("%d stores", n)
	}
	store := s.Groups[topology.TiKV].Members[0]
	if c := store.Claims[0]; c.Growth != state.Growable || c.Volume == nil || c.Volume.Policy != "Delete" {
		t.Errorf("claim %+v", c)
	}
	if s.Nodes["n"]["zone"] != "a" {
		t.Errorf("nodes %v", s.Nodes)
	}
	if m := s.Groups[topology.TiDB].Members[0]; !m.Database.Healthy || m.Database.Answer != state.Answered {
		t.Errorf("server %+v", m.Database)
	}
	if m := s.Groups[topology.PD].Members[0]; m.Database.Answer != state.Answered { // its pod is not Ready
		t.Errorf("member %+v", m.Database)
	}
	now = now.Add(time.Second) // an earlier heartbeat shows that the leader was elected again
	f.Update(func(s *pd.FakeState) { s.Stores[0].LastHeartbeat = noon.Add(time.Minute) })
	if again, err := o.Observe(t.Context(), true); err != nil || !again.Snapshot.PD.LeaderSince.Equal(now) {
		t.Errorf("leads since %s, %v", again.Snapshot.PD.LeaderSince, err)
	}
	tidb := "basic-tidb-0.basic-tidb-peer.db.svc:10080"
	if limit := limitOf(o.http); !dialer.reached(tidb) || limit != readTimeout {
		t.Errorf("the server was not asked through the dialer, or for %s", limit)
	}
	look := func() { _, _ = o.Observe(t.Context(), true) }
	if look(); dialer.reached(tidb) {
		t.Error("a connection is not used again")
	}
	o.Close()
	if look(); !dialer.reached(tidb) {
		t.Error("the connection was left open")
	}
	o.Close()
	var told atomic.Int64 // members of several components are dialed at the same time
	dialer.onDial = func() { told.Store(int64(dialer.told)) }
	if look(); told.Load() != 3 || dialer.told != 0 {
		t.Errorf("while members were asked, %d pods were told to the dialer, %d afterwards", told.Load(), dialer.told)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dialer.onDial = cancel // it would be asked again and again
	client := o.client([]string{peer("pd", "1", "2379")})
	if _, err := client.Members(ctx); !dialer.reached("basic-pd-1.basic-pd-peer.db.svc:2379") || calls == 0 {
		t.Errorf("PD was not asked through the dialer, or the call was not counted: %v", err)
	}
}

// limitOf returns the limit of time of a client's requests.
func limitOf(c *http.Client) time.Duration {
	below := c.Transport.(interface{ WrappedRoundTripper() http.RoundTripper }).WrappedRoundTripper()
	return below.(interface{ Limit() time.Duration }).Limit()
}

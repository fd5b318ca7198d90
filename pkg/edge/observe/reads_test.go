package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// slow is an API server that takes a second for each answer. Unlike client-go's fake one it answers
// several requests at the same time.
type slow struct {
	objects map[string]any // by the last part of the path
	mu      sync.Mutex
	now     int
	most    int // how many requests there were at the same time
	all     int
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	s.count(1)
	time.Sleep(time.Second)
	s.count(-1)
	code, body := http.StatusNotFound, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	if o, ok := s.objects[path.Base(r.URL.Path)]; ok {
		code = http.StatusOK
		body, _ = json.Marshal(o)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

func (s *slow) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now += n
	s.all += max(n, 0)
	s.most = max(s.most, s.now)
}

// of returns an observer that reads from the API server for upkeep.
func (s *slow) of(t *testing.T) *Observer {
	t.Helper()
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api", Transport: s, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	o := New(kube, dial.Any(&network{}), nil, func() time.Time { return noon })
	o.ReadForUpkeep(Fresh)
	return o
}

// TestReadsAtOnce: no more than atOnce volumes, or nodes, are read at the same time, and a node with
// several stores is read once.
func TestReadsAtOnce(t *testing.T) {
	const many = 3 * atOnce
	synctest.Test(t, func(t *testing.T) {
		var claims []*corev1.PersistentVolumeClaim
		for i := range many {
			c := boundClaim(i)
			claims = append(claims, &c)
		}
		api := &slow{}
		api.of(t).readVolumes(t.Context(), Objects{Claims: claims}.sort(basic))
		if api.most != atOnce || api.all != many {
			t.Errorf("volumes: %d at once, %d in all", api.most, api.all)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var stores []state.Member
		for i := range 2 * many {
			stores = append(stores, state.Member{
				Kind: topology.TiKV, Pod: &state.Pod{Node: fmt.Sprint("n", i/2)}, StoreLabels: map[string]string{},
			})
		}
		s := &state.Snapshot{PD: state.PD{LocationLabels: []string{"zone"}}, Groups: map[topology.Kind]state.Group{topology.TiKV: {Members: stores}}}
		c := basic
		c.Groups = []topology.Group{{Kind: topology.TiKV}}
		api := &slow{}
		api.of(t).readNodes(t.Context(), c, s)
		if api.most != atOnce || api.all != many {
			t.Errorf("nodes: %d at once, %d in all", api.most, api.all)
		}
	})
}

// TestReadsAreWaitedFor: volumes are read while PD is asked, and an observation has them also where
// that takes longer.
func TestReadsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claim := boundClaim(0)
		volume := volumeOf(claim)
		volume.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}
		o := (&slow{objects: map[string]any{volume.Name: volume}}).of(t)
		c := topology.New(small())
		claim.Labels = c.Labels(topology.TiKV)
		seen, err := o.observe(t.Context(), c, objectsOf(Objects{Claims: []*corev1.PersistentVolumeClaim{&claim}}))
		if err != nil {
			t.Fatal(err)
		}
		if got := seen.Snapshot.Groups[topology.TiKV].Members[0].Claims[0].Volume; got == nil || got.Name != volume.Name {
			t.Errorf("got %+v", got)
		}
	})
}

// TestVolumesUnchanged: while nothing is known to have changed, volumes are not read again, however long that is.
func TestVolumesUnchanged(t *testing.T) {
	zero := boundClaim(0)
	o := tend(volumeOf(zero))
	o.live = &counting{}
	u := o.ReadChanges()
	look := func(same bool) int {
		t.Helper()
		u.Wake(same)
		if _, err := u.Intent(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := u.Objects(t.Context(), basic); err != nil {
			t.Fatal(err)
		}
		o.volumes(t, zero)
		o.time = o.time.Add(2 * Fresh)
		return o.reads()
	}
	if first, second, third := look(false), look(true), look(false); first != 1 || second != 0 || third != 1 {
		t.Errorf("read %d, %d and %d times", first, second, third)
	}
}

// TestCountedWithoutPD: a member that PD's health check misses, and that says itself that it takes part in the quorum,
// counts.
func TestCountedWithoutPD(t *testing.T) {
	f := pd.NewFake(2, 1)
	f.Update(func(s *pd.FakeState) {
		for i := range s.Members {
			n := strconv.Itoa(i)
			s.Members[i].Name = "basic-pd-" + n
			s.Members[i].PeerURLs, s.Members[i].ClientURLs = []string{peer("pd", n, "2380")}, []string{peer("pd", n, "2379")}
		}
		s.Leader, s.Unhealthy = "basic-pd-0", map[string]bool{"basic-pd-1": true}
	})
	for id, want := range map[string]int{"2": 2, "9": 1} {
		o := New(fake.NewClientset(), dial.Any(&network{}), nil, func() time.Time { return noon })
		o.identify(topology.New(small()), credentials{})
		o.http = &http.Client{Transport: port(func(r *http.Request) (*http.Response, error) {
			member := id
			if strings.HasPrefix(r.URL.Host, "basic-pd-0.") {
				member = "1"
			}
			return says(http.StatusOK, `{"header":{"member_id":"`+member+`"},"leader":"1","raftIndex":"7","raftAppliedIndex":"7"}`)(r)
		})}
		o.pd, o.urls = f, []string{peer("pd", "0", "2379"), peer("pd", "1", "2379")}
		pods := []*corev1.Pod{runningPod(topology.PD, "basic-pd-0"), runningPod(topology.PD, "basic-pd-1")}
		seen, err := o.observe(t.Context(), topology.New(small()), objectsOf(Objects{Pods: pods}))
		if got := seen.Snapshot.PD; err != nil || got.Members != 2 || got.Healthy != want {
			t.Errorf("it says that it is member %s: %d of %d are healthy, %v", id, got.Healthy, got.Members, err)
		}
	}
}

// objectsOf is a Source that has these objects.
type objectsOf Objects

func (s objectsOf) Intent(context.Context) (*v1alpha1.TidbCluster, error) { return small(), nil }

func (s objectsOf) Objects(context.Context, topology.Cluster) (Objects, error) {
	return Objects(s), nil
}

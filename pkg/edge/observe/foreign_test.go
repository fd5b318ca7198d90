package observe

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// TestMembersSteerNoRequest: whatever members answer, connections go to members of the cluster, and no path is asked
// that a member has named. The image of a member is the choice of who writes the TidbCluster, and a daemon has rights
// in other namespaces, where NetworkPolicies let it in.
func TestMembersSteerNoRequest(t *testing.T) {
	const evil = "http://vault-0.x.bank.svc:8200/v1/secret/prod"
	own := basic.MemberURL(topology.PD, 1, topology.PDClientPort)
	for name, answer := range map[string]http.HandlerFunc{
		"leader of another namespace": answering(`{"name":"other","client_urls":["http://basic-pd-0.basic-pd-peer.bank.svc:2379"]}`),
		"leader with a path":          answering(`{"name":"other","client_urls":["` + evil + `?ignored="]}`),
		"own member with a path":      answering(`{"name":"other","client_urls":["` + own + `/v1/secret/prod?x=","` + own + `?x="]}`),
		"redirect":                    func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, evil, http.StatusFound) },
		"redirect with the body":      func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, evil, http.StatusTemporaryRedirect) },
		"redirect to a member": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, own+"/v1/secret/prod", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var paths []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				paths = append(paths, r.URL.Path)
				mu.Unlock()
				answer(w, r)
			}))
			defer server.Close()
			way := &network{to: server.Listener.Addr().String()}
			o := New(fake.NewClientset(), dial.Any(way), nil, time.Now)
			defer o.Close()
			o.identify(basic, credentials{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := o.client([]string{basic.MemberURL(topology.PD, 0, topology.PDClientPort)}).Members(ctx)
			if err == nil {
				t.Error("PD has answered")
			}
			_, _ = o.tidb.Healthy(ctx, basic.PodHost(topology.TiDB, 0))
			_, _ = o.tikv.Counts(ctx, basic.PodHost(topology.TiKV, 0))
			_, _ = o.TiCDC(basic, 0).Drain(ctx, "x")
			_ = o.Pump(basic, 0).Close(ctx, "x")
			for _, addr := range way.dialed {
				if !strings.HasPrefix(addr, "basic-") || !strings.Contains(addr, "."+basic.Namespace+".svc:") {
					t.Errorf("dialed %s", addr)
				}
			}
			for _, path := range paths {
				if strings.Contains(path, "secret") {
					t.Errorf("asked for %s", path)
				}
			}
			if len(way.dialed) < 5 {
				t.Errorf("dialed only %q", way.dialed)
			}
		})
	}
}

// TestEachClusterHasItsMembers: an observer that observes another cluster connects to the members of that one.
func TestEachClusterHasItsMembers(t *testing.T) {
	way := &network{to: "127.0.0.1:1"}
	o := New(fake.NewClientset(), dial.Any(way), nil, time.Now)
	ask := func(c topology.Cluster) bool {
		_, _ = o.tidb.Healthy(t.Context(), c.PodHost(topology.TiDB, 0))
		return way.reached(c.PodHost(topology.TiDB, 0) + ":10080")
	}
	if ask(basic) {
		t.Error("dialed before a cluster is known")
	}
	other := topology.Cluster{Name: "other", Namespace: basic.Namespace}
	o.identify(other, credentials{})
	if !ask(other) || ask(basic) {
		t.Errorf("dialed %q", way.dialed)
	}
}

func answering(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

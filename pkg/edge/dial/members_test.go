package dial

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// anywhere connects every address to one server, and notes the addresses.
type anywhere struct {
	to    string
	asked []string
	told  []string
}

func (a *anywhere) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	a.asked = append(a.asked, addr)
	return new(net.Dialer).DialContext(ctx, network, a.to)
}

func (a *anywhere) Tell(pods []*corev1.Pod) func() {
	for _, p := range pods {
		a.told = append(a.told, p.Namespace+"/"+p.Name)
	}
	return func() {}
}

func (*anywhere) Close() error { return nil }

var basic = topology.Cluster{Name: "basic", Namespace: "tenant"}

// TestMembersOnly: connections go to members of the cluster, whoever has said the address. What is refused, is refused
// before anything is asked.
func TestMembersOnly(t *testing.T) {
	for addr, reason := range map[string]Reason{
		"basic-pd-0.basic-pd-peer.tenant.svc:2379":                 "",
		"basic-pd-12.basic-pd-peer.tenant.svc.corp.example:2379":   "",
		"basic-tikv-0.basic-tikv-peer.tenant:20180":                "",
		"basic-ticdc-0.basic-ticdc-peer.tenant.svc:8301":           "",
		"basic-pump-0.basic-pump.tenant.svc:8250":                  "",
		"basic-pd-0.basic-pd-peer.bank.svc:2379":                   Foreign, // a cluster of the same name, elsewhere
		"vault-0.x.bank.svc:8200":                                  Foreign,
		"vault-0.x.tenant.svc:8200":                                Foreign,
		"other-pd-0.other-pd-peer.tenant.svc:2379":                 Foreign,
		"basic-two-pd-0.basic-two-pd-peer.tenant.svc:2379":         Foreign,
		"basic-pd-00.basic-pd-peer.tenant.svc:2379":                Foreign,
		"basic-pd-x.basic-pd-peer.tenant.svc:2379":                 Foreign,
		"basic-discovery-0.basic-discovery.tenant.svc:10261":       Foreign,
		"kubernetes.default.svc:443":                               BadAddress,
		"basic-pd.tenant.svc:2379":                                 BadAddress,
		"169.254.169.254:80":                                       BadAddress,
		"[fd00::1]:2379":                                           BadAddress,
		"[::ffff:10.0.0.1]:2379":                                   BadAddress,
		"localhost:8080":                                           BadAddress,
		"basic-pd-0.basic-pd-peer.tenant.svc.:2379":                "",
		"basic-pd-0.basic-pd-peer.tenant.svc@vault-0.x.bank.svc:1": BadAddress,
	} {
		server := httptest.NewServer(http.NotFoundHandler())
		way := &anywhere{to: server.Listener.Addr().String()}
		conn, err := Of(Any(way), basic).DialContext(t.Context(), "tcp", addr)
		if err == nil {
			conn.Close()
		}
		server.Close()
		if reason == "" && (err != nil || len(way.asked) != 1) || reason != "" && (!errors.Is(err, reason) || len(way.asked) != 0) {
			t.Errorf("%s: %v, asked %q", addr, err, way.asked)
		}
	}
}

// TestMembersOfDomain: members of a first part that has a cluster domain. A part in another Kubernetes cluster can have the
// same namespace and names.
func TestMembersOfDomain(t *testing.T) {
	of := basic
	of.Domain = "eu.example"
	for addr, here := range map[string]bool{
		"basic-tikv-0.basic-tikv-peer.tenant.svc.eu.example:20180": true,
		"basic-tikv-0.basic-tikv-peer.tenant.svc:20180":            true, // from before the domain
		"basic-tikv-0.basic-tikv-peer.tenant:20180":                true,
		"basic-tikv-0.basic-tikv-peer.tenant.svc.us.example:20180": false,
	} {
		way := &anywhere{to: "127.0.0.1:1"}
		_, err := Of(Any(way), of).DialContext(t.Context(), "tcp", addr)
		if here == errors.Is(err, Foreign) || here != (len(way.asked) == 1) {
			t.Errorf("%s: %v, asked %q", addr, err, way.asked)
		}
	}
}

// TestForeignIsFinal: to ask again does not help, and the error names the cluster.
func TestForeignIsFinal(t *testing.T) {
	_, err := Of(Any(&anywhere{}), basic).DialContext(t.Context(), "tcp", "vault-0.x.bank.svc:8200")
	failure, ok := errors.AsType[*ForwardError](err)
	if !ok || !failure.Permanent() || !strings.Contains(err.Error(), "bank/vault-0") || !strings.Contains(err.Error(), "not a member of TidbCluster tenant/basic") {
		t.Errorf("%v", err)
	}
}

// TestOnlyMembersAreTold: a pod of another cluster is not handed on.
func TestOnlyMembersAreTold(t *testing.T) {
	way := &anywhere{}
	pod := func(namespace, name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	Of(Any(way), basic).Tell([]*corev1.Pod{pod("tenant", "basic-pd-0"), pod("bank", "basic-pd-0"), pod("tenant", "vault-0")})()
	if got := strings.Join(way.told, " "); got != "tenant/basic-pd-0" {
		t.Errorf("told %s", got)
	}
}

// TestNoRedirect: a redirect is an answer like any other. Nothing is sent where it leads, also no request with a body,
// and also where that is a member.
func TestNoRedirect(t *testing.T) {
	for _, to := range []string{"http://vault-0.x.bank.svc:8200/v1/secret", "http://basic-tikv-0.basic-tikv-peer.tenant.svc:20180/x", "/elsewhere", "//169.254.169.254/latest"} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				http.Redirect(w, r, to, code)
			}))
			way := &anywhere{to: server.Listener.Addr().String()}
			client := Client(Of(Any(way), basic).DialContext, nil, time.Minute)
			answer, err := client.Post("http://basic-pd-0.basic-pd-peer.tenant.svc:2379/x", "application/json", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != code || requests != 1 || len(way.asked) != 1 {
				t.Errorf("%d to %s: %s after %d requests, dialed %q", code, to, answer.Status, requests, way.asked)
			}
			client.CloseIdleConnections()
			server.Close()
		}
	}
}

// TestNoCompression: no member is asked to compress, and an answer that is compressed all the same is not unpacked.
func TestNoCompression(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		io.WriteString(w, "accepts "+r.Header.Get("Accept-Encoding"))
	}))
	defer server.Close()
	client := Client(Of(Any(&anywhere{to: server.Listener.Addr().String()}), basic).DialContext, nil, time.Minute)
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://basic-pd-0.basic-pd-peer.tenant.svc:2379/x")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "accepts " {
		t.Errorf("%q, %v", body, err)
	}
}

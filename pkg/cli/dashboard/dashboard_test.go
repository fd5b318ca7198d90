package dashboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/running"
)

// members are three members of PD, of which one serves the dashboard.
type members struct {
	mu      sync.Mutex
	address string // dashboard-address
	down    string // the pod that does not answer
	asked   []string
}

func (m *members) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pod, _, _ := strings.Cut(r.URL.Host, ".")
	m.asked = append(m.asked, r.Method+" "+pod+r.URL.Path)
	answer := func(code int, text string) (*http.Response, error) {
		return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
	switch {
	case pod == m.down:
		return nil, errors.New("connection refused")
	case r.URL.Path == "/pd/api/v1/config":
		return answer(http.StatusOK, fmt.Sprintf(`{"pd-server":{"dashboard-address":%q}}`, m.address))
	case r.URL.Path == "/dashboard/moved":
		a, err := answer(http.StatusFound, "")
		a.Header.Set("Location", r.URL.Scheme+"://"+r.URL.Host+"/dashboard/there")
		return a, err
	case r.Host != "" && r.Host != r.URL.Host:
		return answer(http.StatusForbidden, "PD is asked by another name: "+r.Host)
	}
	return answer(http.StatusOK, "the dashboard, of "+pod)
}

func made(address string) (*way, *members, *bytes.Buffer) {
	m, log := &members{address: address}, &bytes.Buffer{}
	tc := &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}, Spec: v1alpha1.TidbClusterSpec{PD: &v1alpha1.PDSpec{Replicas: 3}}}
	return &way{cluster: topology.New(tc), members: running.Client{HTTP: &http.Client{Transport: m}}, log: log}, m, log
}

const (
	one = "http://basic-pd-1.basic-pd-peer.db.svc:2379"
	two = "http://basic-pd-2.basic-pd-peer.db.svc:2379"
)

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name, address, down string
		want, says          string
		code                exit.Code
	}{
		{"chosen", one, "", one, "", exit.OK},
		{"the first member is down", one, "basic-pd-0", one, "", exit.OK},
		{"not chosen yet", "auto", "", "", "try again in a minute", exit.Refused},
		{"turned off", "none", "", "", "turn it on: kubectl exec basic-pd-0 -c pd -n db -- /pd-ctl config set dashboard-address auto", exit.Refused},
		{"elsewhere", "http://10.0.0.7:2379", "", "", "served by http://10.0.0.7:2379, which is no member", exit.Refused},
	} {
		w, m, _ := made(tt.address)
		m.down = tt.down
		at, err := w.find(t.Context())
		if exit.Of(err) != tt.code || err != nil && !strings.Contains(err.Error(), tt.says) || err == nil && at.String() != tt.want {
			t.Errorf("%s: %v, %v", tt.name, at, err)
		}
	}
	w, m, _ := made(one)
	tc := w.cluster.Written.DeepCopy()
	tc.Status.PD.FailureMembers = map[string]v1alpha1.PDFailureMember{"basic-pd-0": {PodName: "basic-pd-0", MemberID: "1", MemberDeleted: true}}
	tc.Spec.PD.Replicas, m.down = 1, "basic-pd-0"
	w.cluster = topology.New(tc)
	if at, err := w.find(t.Context()); err != nil || at.String() != one {
		t.Errorf("a member that a failover has added is not asked: %v, %v", at, err)
	}
	w.members.HTTP = &http.Client{Transport: refuses{}}
	if _, err := w.find(t.Context()); err == nil || !strings.Contains(err.Error(), "see why: kubectl tidb status basic -n db") {
		t.Errorf("%v", err)
	}
}

// TestFindAcross: a member in another Kubernetes cluster can have the name of a member here, which does not serve the
// dashboard.
func TestFindAcross(t *testing.T) {
	for domain, want := range map[string]string{"eu.example": "http://basic-pd-1.basic-pd-peer.db.svc.eu.example:2379", "us.example": ""} {
		w, _, _ := made("http://basic-pd-1.basic-pd-peer.db.svc." + domain + ":2379")
		tc := w.cluster.Written.DeepCopy()
		tc.Spec.AcrossK8s, tc.Spec.ClusterDomain = true, "eu.example"
		w.cluster = topology.New(tc)
		at, err := w.find(t.Context())
		if (err == nil) != (want != "") || err == nil && at.String() != want || err != nil && exit.Of(err) != exit.Refused {
			t.Errorf("%s: %v, %v", domain, at, err)
		}
	}
}

type refuses struct{}

func (refuses) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("refused") }

// get asks as a browser does.
func get(t *testing.T, h http.Handler, method, host, path string) (code int, body, location string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://"+host+path, http.NoBody)
	out := httptest.NewRecorder()
	h.ServeHTTP(out, r)
	return out.Code, strings.TrimSpace(out.Body.String()), out.Header().Get("Location")
}

// TestHandler: the dashboard is passed on, and nothing else that PD serves.
func TestHandler(t *testing.T) {
	w, m, _ := made(one)
	h := w.handler(m)
	for _, tt := range []struct {
		method, host, path string
		code               int
		body, location     string
	}{
		{"GET", "127.0.0.1:1234", "/dashboard/", 200, "the dashboard, of basic-pd-1", ""},
		{"POST", "localhost:1234", "/dashboard/api/user/login", 200, "the dashboard, of basic-pd-1", ""},
		{"GET", "[::1]:1234", "/dashboard/moved", 302, "", "/dashboard/there"},
		{"GET", "127.0.0.1:1234", "/", 302, `<a href="/dashboard/">Found</a>.`, "/dashboard/"},
		{"GET", "127.0.0.1:1234", "/dashboard", 302, `<a href="/dashboard/">Found</a>.`, "/dashboard/"},
		{"POST", "127.0.0.1:1234", "/pd/api/v1/config", 404, "404 page not found", ""},
		{"GET", "127.0.0.1:1234", "/dashboard/../pd/api/v1/config", 404, "404 page not found", ""},
		{"GET", "127.0.0.1:1234", "/dashboard/%2e%2e/pd/api/v1/config", 404, "404 page not found", ""},
		{"GET", "evil.example:1234", "/dashboard/", 403, "this address is for a browser of this machine", ""},
	} {
		code, body, location := get(t, h, tt.method, tt.host, tt.path)
		if code != tt.code || body != tt.body || location != tt.location {
			t.Errorf("%s %s%s: %d %q %q", tt.method, tt.host, tt.path, code, body, location)
		}
	}
	for _, asked := range m.asked {
		if strings.HasSuffix(asked, "/pd/api/v1/config") && asked != "GET basic-pd-0/pd/api/v1/config" {
			t.Errorf("PD was asked: %s", asked)
		}
	}
}

// TestMoves: when the pod goes away, the next request goes to the member that serves the dashboard then.
func TestMoves(t *testing.T) {
	w, m, log := made(one)
	h := w.handler(m)
	if code, body, _ := get(t, h, "GET", "localhost", "/dashboard/"); code != 200 || !strings.HasSuffix(body, "basic-pd-1") {
		t.Fatalf("%d %s", code, body)
	}
	m.down, m.address = "basic-pd-1", two
	if code, body, _ := get(t, h, "GET", "localhost", "/dashboard/"); code != 502 || !strings.Contains(body, "reload the page") {
		t.Errorf("%d %s", code, body)
	}
	if !strings.Contains(log.String(), "the dashboard cannot be reached: connection refused") {
		t.Errorf("said %q", log.String())
	}
	if code, body, _ := get(t, h, "GET", "localhost", "/dashboard/"); code != 200 || !strings.HasSuffix(body, "basic-pd-2") {
		t.Errorf("%d %s", code, body)
	}
}

// TestServe: it serves until the command is interrupted.
func TestServe(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w, m, _ := made(one)
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, w.handler(m)) }()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/dashboard/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || string(body) != "the dashboard, of basic-pd-1" {
		t.Errorf("%v: %q", err, body)
	}
	stop(exit.ErrInterrupted)
	if err := <-ended; !errors.Is(err, exit.ErrInterrupted) {
		t.Errorf("%v", err)
	}
}

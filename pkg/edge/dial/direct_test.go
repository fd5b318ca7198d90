package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// newDirect returns a Direct whose one pod has this address.
func newDirect(t *testing.T, address string) (*apiServer, *Direct) {
	t.Helper()
	a, _ := newAPIServer(t)
	a.set(func() { a.pods["basic-pd-0"].Status.PodIP = address })
	d, err := NewDirect(&rest.Config{Host: a.URL})
	if err != nil {
		t.Fatal(err)
	}
	return a, d
}

// port returns the port on which a server listens.
func port(t *testing.T, s *httptest.Server) string {
	t.Helper()
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestDirect: for each of a pod's DNS names the connection goes to its address, and the server and
// its certificate see the name.
func TestDirect(t *testing.T) {
	a, d := newDirect(t, "127.0.0.1")
	at := port(t, echoPath())
	tr := Transport(d.DialContext, nil)
	defer tr.CloseIdleConnections()
	hc := &http.Client{Transport: tr}
	for _, suffix := range []string{"", ".svc", ".svc.cluster.local", ".svc.cluster.local.", ".svc.corp.example"} {
		host := fmt.Sprintf("basic-pd-0.basic-pd-peer.ns%s:%s", suffix, at)
		got, err := get(hc, "http://"+host+"/x")
		if err != nil || got != host+" /x " {
			t.Errorf("%s: %q, %v", host, got, err)
		}
	}
	if got := a.upgrades(); got != "" {
		t.Errorf("upgrades %q, though no connection should go through the API server", got)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestDirectFollowsThePod: the address is the current one of the pod.
func TestDirectFollowsThePod(t *testing.T) {
	a, d := newDirect(t, "127.0.0.2") // nothing listens there
	addr := "basic-pd-0.basic-pd-peer.ns.svc:" + port(t, echoPath())
	if _, err := d.DialContext(t.Context(), "tcp", addr); err == nil {
		t.Fatal("connected to an address where nothing listens")
	}
	a.addPod("basic-pd-0", "uid-2")
	a.set(func() { a.pods["basic-pd-0"].Status.PodIP = "127.0.0.1" })
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

func TestDirectFails(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*apiServer)
		want   Reason
	}{
		"nothing listens": {func(*apiServer) {}, Refused},
		"no such pod":     {func(a *apiServer) { delete(a.pods, "basic-pd-0") }, PodNotFound},
		"pending":         {func(a *apiServer) { a.pods["basic-pd-0"].Status.Phase = corev1.PodPending }, PodNotRunning},
		"node lost":       {func(a *apiServer) { a.pods["basic-pd-0"].Status.Reason = "NodeLost" }, PodNotRunning},
		"no address":      {func(a *apiServer) { a.pods["basic-pd-0"].Status.PodIP = "" }, PodNotRunning},
		"forbidden":       {func(a *apiServer) { a.deny["GET pods"] = 403 }, Forbidden},
		"server error":    {func(a *apiServer) { a.deny["GET pods"] = 500 }, Unreachable},
		"no route":        {func(a *apiServer) { a.pods["basic-pd-0"].Status.PodIP = "no address" }, Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			a, d := newDirect(t, "127.0.0.1")
			a.set(func() { c.change(a) })
			_, err := d.DialContext(t.Context(), "tcp", "basic-pd-0.basic-pd-peer.ns.svc:9")
			wantReason(t, err, c.want)
		})
	}
}

func TestDirectEndsWithItsContext(t *testing.T) {
	_, d := newDirect(t, "127.0.0.1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.DialContext(ctx, "tcp", pd0)
	wantReason(t, err, Unreachable)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v does not say that it was cancelled", err)
	}
	if _, err := d.DialContext(t.Context(), "tcp", "basic-pd:2379"); !errors.Is(err, BadAddress) {
		t.Errorf("a service: %v", err)
	}
}

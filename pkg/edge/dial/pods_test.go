package dial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const pd0 = "basic-pd-0.basic-pd-peer.ns.svc:2379"

func echoPath() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Host, r.URL.Path, body)
	}))
}

func get(hc *http.Client, url string) (string, error) {
	resp, err := hc.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func client(t *testing.T, p *Pods) *http.Client {
	tr := Transport(p.DialContext, nil)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func wantReason(t *testing.T, err error, reason Reason) *ForwardError {
	t.Helper()
	var failure *ForwardError
	if !errors.As(err, &failure) || !errors.Is(err, reason) {
		t.Fatalf("error %v, want %q", err, reason)
	}
	if failure.Pod != "basic-pd-0" || failure.Namespace != "ns" || failure.Port == 0 {
		t.Errorf("error does not name pod and port: %+v", failure)
	}
	return failure
}

func TestManyRequestsOneUpgrade(t *testing.T) {
	a, p := newAPIServer(t)
	a.listen(2379, echoPath())
	tr := Transport(p.DialContext, nil)
	defer tr.CloseIdleConnections()
	var dials sync.WaitGroup // a transport still dials for requests that got another connection
	defer dials.Wait()
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		defer dials.Done()
		return p.DialContext(ctx, network, addr)
	}
	hc := &http.Client{Transport: tr}
	for i := range 100 {
		if got, err := get(hc, fmt.Sprintf("http://%s/%d", pd0, i)); err != nil || got != fmt.Sprintf("%s /%d ", pd0, i) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	var wg sync.WaitGroup
	for i := range 50 { // each stream has two seconds to open, also with the race detector on a busy machine
		wg.Go(func() {
			resp, err := hc.Post("http://"+pd0+"/p", "", strings.NewReader(strings.Repeat("x", 1000*i)))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if b, err := io.ReadAll(resp.Body); err != nil || len(b) < 1000*i {
				t.Errorf("%d bytes of %d, %v", len(b), 1000*i, err)
			}
		})
	}
	wg.Wait()
	if got := a.upgrades(); got != "GET" {
		t.Errorf("upgrades %q, want one websocket", got)
	}
}

func TestRefused(t *testing.T) {
	a, p := newAPIServer(t)
	a.listen(2379, echoPath())
	hc := client(t, p)
	_, err := get(hc, "http://basic-pd-0.basic-pd-peer.ns.svc:9/")
	if failure := wantReason(t, err, Refused); !failure.Refused() || failure.Permanent() || failure.Port != 9 {
		t.Errorf("error %+v", failure)
	}
	conn, err := p.Forward(t.Context(), "ns", "basic-pd-0", 9)
	if err == nil { // the refusal may be faster than the stream's acknowledgement
		_, err = conn.Read(make([]byte, 1))
		conn.Close()
	}
	wantReason(t, err, Refused)
	if _, err := get(hc, "http://"+pd0); err != nil {
		t.Errorf("the shared connection did not survive a refusal: %v", err)
	}
	if got := a.upgrades(); got != "GET" {
		t.Errorf("upgrades %q", got)
	}
}

func TestRefusedBeforeTheStreamIsAcknowledged(t *testing.T) {
	a, p := newAPIServer(t)
	_, err := p.Forward(t.Context(), "ns", "basic-pd-0", 7)
	wantReason(t, err, Refused)
	if got := a.upgrades(); got != "GET" {
		t.Errorf("upgrades %q, want the connection kept", got)
	}
}

func TestPodStates(t *testing.T) {
	a, p := newAPIServer(t)
	_, err := p.Forward(t.Context(), "ns", "basic-pd-9", 2379)
	if !errors.Is(err, PodNotFound) || !strings.Contains(err.Error(), "ns/basic-pd-9 port 2379") {
		t.Errorf("missing pod: %v", err)
	}
	a.set(func() { a.pods["basic-pd-0"].Status.Phase = "Pending" })
	_, err = p.Forward(t.Context(), "ns", "basic-pd-0", 2379)
	wantReason(t, err, PodNotRunning)
	if got := a.upgrades(); got != "" {
		t.Errorf("upgrades %q for pods that cannot be connected to", got)
	}
}

func TestForbiddenNamesTheRule(t *testing.T) {
	a, p := newAPIServer(t)
	a.set(func() { a.deny["GET pods/portforward"], a.deny["POST pods/portforward"] = 403, 403 })
	_, err := p.DialContext(t.Context(), "tcp", pd0)
	failure := wantReason(t, err, Forbidden)
	if !failure.Permanent() || !strings.Contains(err.Error(), "resources [pods/portforward], verbs [get, create]") {
		t.Errorf("error %v", err)
	}
	if got := a.upgrades(); got != "GET POST" {
		t.Errorf("upgrades %q, want the fallback tried", got)
	}
	a.set(func() { a.deny["GET pods"] = 403 })
	_, err = p.DialContext(t.Context(), "tcp", pd0)
	wantReason(t, err, Forbidden)
	if !strings.Contains(err.Error(), "resources [pods], verbs [get]") {
		t.Errorf("error %v", err)
	}
}

// A user who may only create gets 403 for the websocket's GET; an old API server answers 400.
func TestFallBackToSPDY(t *testing.T) {
	for _, code := range []int{403, 400} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			a, p := newAPIServer(t)
			a.listen(2379, echoPath())
			a.set(func() { a.deny["GET pods/portforward"] = code })
			hc := client(t, p)
			if _, err := get(hc, "http://"+pd0); err != nil {
				t.Fatal(err)
			}
			a.addPod("basic-pd-1", "uid-2")
			if _, err := get(hc, "http://basic-pd-1.basic-pd-peer.ns.svc:2379"); err != nil {
				t.Fatal(err)
			}
			if got := a.upgrades(); got != "GET POST POST" {
				t.Errorf("upgrades %q, want one wasted request in all", got)
			}
		})
	}
}

func TestNoFallBack(t *testing.T) {
	for code, reason := range map[int]Reason{404: PodNotFound, 401: Forbidden} {
		a, p := newAPIServer(t)
		a.set(func() { a.deny["GET pods/portforward"] = code })
		_, err := p.DialContext(t.Context(), "tcp", pd0)
		wantReason(t, err, reason)
		if strings.Contains(err.Error(), "RBAC") {
			t.Errorf("%d: no rule would help: %v", code, err)
		}
		if got := a.upgrades(); got != "GET" {
			t.Errorf("%d: upgrades %q", code, got)
		}
	}
}

// TestNodeIsGone: where a host was removed for good, the API server still has its pods for a while. The error names the
// node, and does not read as if the pod did not exist.
func TestNodeIsGone(t *testing.T) {
	for _, spdyOnly := range []bool{false, true} {
		a, p := newAPIServer(t)
		p.spdyOnly.Store(spdyOnly)
		a.set(func() { a.pods["basic-pd-0"].Spec.NodeName = gone })
		_, err := p.DialContext(t.Context(), "tcp", pd0)
		wantReason(t, err, NodeNotFound)
		if want := "connect to pod ns/basic-pd-0 port 2379: the node of the pod does not exist any more: gone"; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

func TestPodIsReplaced(t *testing.T) {
	a, p := newAPIServer(t)
	a.listen(2379, echoPath())
	old, err := p.DialContext(t.Context(), "tcp", pd0)
	if err != nil {
		t.Fatal(err)
	}
	a.set(func() { delete(a.pods, "basic-pd-0") })
	_, err = p.DialContext(t.Context(), "tcp", pd0)
	wantReason(t, err, PodNotFound)
	if _, err := old.Read(make([]byte, 1)); err == nil {
		t.Error("a connection to the old pod is still open")
	}
	old.Close()
	a.addPod("basic-pd-0", "uid-2")
	if _, err := get(client(t, p), "http://"+pd0); err != nil {
		t.Fatal(err)
	}
	a.addPod("basic-pd-0", "uid-3")
	hc := client(t, p)
	if _, err := get(hc, "http://"+pd0); err != nil {
		t.Fatal(err)
	}
	if got := a.upgrades(); got != "GET GET GET" {
		t.Errorf("upgrades %q, want one per pod", got)
	}
}

// TestPodEnds: a connection from before a pod began to end is not used again, since a request on it takes a second to
// fail. One that was made later is.
func TestPodEnds(t *testing.T) {
	a, p := newAPIServer(t)
	a.listen(2379, echoPath())
	made, err := p.core.Pods("ns").Get(t.Context(), "basic-pd-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p.Tell([]*corev1.Pod{made})()
		if _, err := get(client(t, p), "http://"+pd0); err != nil {
			t.Fatal(err)
		}
	}
	if got := a.upgrades(); got != "GET" {
		t.Errorf("upgrades %q, want one while the pod does not end", got)
	}
	old, err := p.DialContext(t.Context(), "tcp", pd0)
	if err != nil {
		t.Fatal(err)
	}
	ending := made.DeepCopy()
	ending.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	for range 2 {
		over := p.Tell([]*corev1.Pod{ending})
		if _, err := get(client(t, p), "http://"+pd0); err != nil {
			t.Fatal(err)
		}
		over()
	}
	if _, err := old.Read(make([]byte, 1)); err == nil {
		t.Error("a connection from before is still open")
	}
	if got := a.upgrades(); got != "GET GET" {
		t.Errorf("upgrades %q, want one more when the pod ends", got)
	}
}

func TestConnectionIsLostAndMadeAgain(t *testing.T) {
	a, p := newAPIServer(t)
	half := make(chan struct{})
	a.listen(2379, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/half" {
			io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			close(half)
			<-r.Context().Done()
		}
	})))
	hc := client(t, p)
	resp, err := hc.Get("http://" + pd0 + "/half")
	if err != nil {
		t.Fatal(err)
	}
	<-half
	a.cut()
	_, err = io.ReadAll(resp.Body)
	resp.Body.Close()
	wantReason(t, err, Unreachable)
	if _, err := get(hc, "http://"+pd0); err != nil {
		t.Errorf("not made again: %v", err)
	}
}

// Each of these would take 30 s or for ever in the libraries.
func TestDialEndsWithItsContext(t *testing.T) {
	for _, what := range []string{"GET pods", "GET pods/portforward", "streams"} {
		t.Run(what, func(t *testing.T) {
			a, p := newAPIServer(t)
			connected := make(chan struct{}, 2)
			tcp(t, a, func(c net.Conn) {
				connected <- struct{}{}
				io.Copy(c, c)
			})
			hang := make(chan struct{})
			a.set(func() { a.hang[what] = hang })
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := p.Forward(ctx, "ns", "basic-pd-0", 4000)
			if failure := wantReason(t, err, Unreachable); !errors.Is(failure, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("took %v", d)
			}
			a.set(func() {
				close(hang)
				delete(a.hang, what)
			})
			if what == "streams" {
				<-connected // that of the dial that gave up; the library would wait for it for 30 s
			}
			conn, err := p.Forward(t.Context(), "ns", "basic-pd-0", 4000)
			if err != nil {
				t.Fatalf("when nothing hangs any more: %v", err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "x"); err != nil {
				t.Error(err)
			}
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Streams have no flow control: unread answers must not block other streams.
func TestUnreadAnswersBlockNothing(t *testing.T) {
	a, p := newAPIServer(t)
	big := strings.Repeat("x", 1<<20)
	a.listen(2379, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, big)
	})))
	for range 12 {
		conn, err := p.DialContext(t.Context(), "tcp", pd0)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	got, err := get(client(t, p), "http://"+pd0)
	if err != nil || len(got) != len(big) || time.Since(start) > 5*time.Second {
		t.Errorf("%d bytes after %v, %v", len(got), time.Since(start), err)
	}
}

func TestDeadlines(t *testing.T) {
	a, p := newAPIServer(t)
	a.listen(2379, echoPath())
	conn, err := p.DialContext(t.Context(), "tcp", pd0)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if got := conn.RemoteAddr().String(); got != "ns/basic-pd-0:2379" {
		t.Errorf("remote address %s", got)
	}
}

func TestClose(t *testing.T) {
	a, p := newAPIServer(t)
	a.listen(2379, echoPath())
	conn, err := p.DialContext(t.Context(), "tcp", pd0)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives its dialer")
	}
	_, err = p.DialContext(t.Context(), "tcp", pd0)
	if failure := wantReason(t, err, Closed); !failure.Permanent() {
		t.Error("an error of a closed dialer is not permanent")
	}
}

package dial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilportforward "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// apiServer is a fake API server with a kubelet: the transports are those of Kubernetes' own
// libraries; the handler that pairs streams and connects them to a port is ours, like the
// kubelet's. The end-to-end tests use the real ones.
type apiServer struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	pods     map[string]*corev1.Pod // by name
	ports    map[int]string         // the address behind a pod's port
	requests []string               // upgrades asked for, by method
	sessions []io.Closer
	live     int // sessions that have not ended
	// deny answers requests of "METHOD resource" with a status code.
	deny map[string]int
	// hang makes requests of "METHOD resource", or "streams", wait for the end of the test.
	hang map[string]chan struct{}
}

func newAPIServer(t *testing.T) (*apiServer, *Pods) {
	t.Helper()
	a := &apiServer{
		t: t, pods: map[string]*corev1.Pod{}, ports: map[int]string{},
		deny: map[string]int{}, hang: map[string]chan struct{}{},
	}
	before := runtime.NumGoroutine()
	a.Server = httptest.NewServer(a)
	a.addPod("basic-pd-0", "uid-1")
	p, err := NewPods(&rest.Config{Host: a.URL, Timeout: time.Nanosecond}) // the timeout must not reach the streams
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		a.end()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		closeIdle(p)
		noLeak(t, before)
	})
	return a, p
}

func closeIdle(p *Pods) {
	if c, ok := p.core.RESTClient().(*rest.RESTClient); ok && c.Client != nil {
		c.Client.CloseIdleConnections()
	}
}

// noLeak waits for goroutines to end: a condition with a limit, not a sleep.
func noLeak(t *testing.T, before int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before+1 { // the connection cache of client-go keeps one
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Errorf("%d goroutines before, %d now:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
			return
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
}

func (a *apiServer) end() {
	a.set(func() {
		for key, ch := range a.hang {
			close(ch)
			delete(a.hang, key)
		}
		for _, s := range a.sessions {
			s.Close()
		}
	})
	a.CloseClientConnections()
	a.Close()
}

func (a *apiServer) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

func (a *apiServer) addPod(name, uid string) {
	a.set(func() {
		a.pods[name] = &corev1.Pod{
			TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(uid)},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning},
		}
	})
}

// listen connects a port of every pod to a server.
func (a *apiServer) listen(port int, s *httptest.Server) {
	a.t.Cleanup(s.Close)
	a.set(func() { a.ports[port] = s.Listener.Addr().String() })
}

func (a *apiServer) upgrades() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.requests, " ")
}

// cut breaks every session, as a restart of the API server does.
func (a *apiServer) cut() {
	a.set(func() {
		for _, s := range a.sessions {
			s.Close()
		}
		a.sessions = nil
	})
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/ns/pods/"), "/")
	resource := strings.Join(append([]string{"pods"}, parts[1:]...), "/")
	rule := r.Method + " " + resource
	a.mu.Lock()
	pod, code, hang := a.pods[parts[0]], a.deny[rule], a.hang[rule]
	if resource != "pods" {
		a.requests = append(a.requests, r.Method)
	}
	a.mu.Unlock()
	if hang != nil {
		<-hang
	}
	switch {
	case code != 0:
		status(w, code, reasons[code], "the rule "+rule+" says no")
	case pod == nil:
		status(w, 404, metav1.StatusReasonNotFound, "no such pod")
	case resource == "pods":
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(pod)
	case pod.Spec.NodeName == gone:
		status(w, 404, metav1.StatusReasonNotFound, `nodes "`+gone+`" not found`)
	case r.Method == http.MethodGet:
		a.websocket(w, r)
	default:
		a.spdy(w, r)
	}
}

// gone is the name of a node that does not exist.
const gone = "gone"

var reasons = map[int]metav1.StatusReason{
	400: metav1.StatusReasonBadRequest, 401: metav1.StatusReasonUnauthorized,
	403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound,
}

func status(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(&metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}

func (a *apiServer) websocket(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{Subprotocols: []string{utilportforward.WebsocketsSPDYTunnelingPortForwardV1}}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	k := newKubelet(a)
	tunnel := portforward.NewTunnelingConnection("server", ws)
	conn, err := spdy.NewServerConnection(tunnel, k.accept)
	if err != nil {
		a.t.Error(err)
		return
	}
	a.serve(k, conn, tunnel)
}

func (a *apiServer) spdy(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{utilportforward.PortForwardV1Name}); err != nil {
		return
	}
	k := newKubelet(a)
	if conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, k.accept); conn != nil {
		a.serve(k, conn, conn)
	}
}

func (a *apiServer) serve(k *kubelet, conn httpstream.Connection, closer io.Closer) {
	k.conn = conn
	a.set(func() {
		a.sessions = append(a.sessions, closer)
		a.live++
	})
	k.run()
	conn.Close()
	closer.Close()
	a.set(func() { a.live-- })
}

// kubelet pairs streams by request id and connects them.
type kubelet struct {
	a       *apiServer
	conn    httpstream.Connection
	streams chan accepted
	errs    map[string]accepted
}

// accepted is a stream that is acknowledged when replied is closed. One that is reset before would never end:
// spdystream has its Close wait for the acknowledgement, which is not sent any more.
type accepted struct {
	httpstream.Stream
	replied <-chan struct{}
}

func newKubelet(a *apiServer) *kubelet {
	return &kubelet{a: a, streams: make(chan accepted, 16), errs: map[string]accepted{}}
}

func (k *kubelet) accept(s httpstream.Stream, replySent <-chan struct{}) error {
	k.a.mu.Lock()
	hang := k.a.hang["streams"]
	k.a.mu.Unlock()
	if hang != nil {
		<-hang
	}
	if s.Headers().Get(corev1.PortHeader) == hastyPort {
		return refuseAtOnce(s, replySent)
	}
	k.streams <- accepted{s, replySent}
	return nil
}

// hastyPort is a port that refuses before its data stream is acknowledged.
const hastyPort = "7"

func refuseAtOnce(s httpstream.Stream, replySent <-chan struct{}) error {
	if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeData {
		return errors.New("refused") // resets the stream
	}
	go func() {
		<-replySent
		fmt.Fprint(s, "dial tcp4 127.0.0.1:7: connect: connection refused")
		s.Close()
	}()
	return nil
}

func (k *kubelet) run() {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		select {
		case <-k.conn.CloseChan():
			return
		case s := <-k.streams:
			id := s.Headers().Get(corev1.PortForwardRequestIDHeader)
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				k.errs[id] = s
				continue
			}
			errStream := k.errs[id]
			delete(k.errs, id)
			wg.Go(func() { k.forward(s, errStream) })
		}
	}
}

func (k *kubelet) forward(data, errStream accepted) {
	<-data.replied
	<-errStream.replied
	defer k.conn.RemoveStreams(data.Stream, errStream.Stream)
	defer data.Close()
	defer errStream.Close()
	var port int
	fmt.Sscan(data.Headers().Get(corev1.PortHeader), &port)
	k.a.mu.Lock()
	addr := k.a.ports[port]
	k.a.mu.Unlock()
	backend, err := net.Dial("tcp", addr)
	if addr == "" || err != nil {
		fmt.Fprintf(errStream, "error forwarding port %d to pod x, uid : failed to connect to localhost:%d inside "+
			"namespace \"y\", IPv4: dial tcp4 127.0.0.1:%d: connect: connection refused", port, port, port)
		data.Reset()
		errStream.Reset()
		return
	}
	defer backend.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(backend, data)
		backend.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(data, backend)
	data.Reset()
	<-done
}

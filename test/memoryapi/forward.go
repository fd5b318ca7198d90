package memoryapi

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	utilportforward "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// Connect connects to a port of a pod.
type Connect func(ctx context.Context, pod *corev1.Pod, port string) (net.Conn, error)

// Forward sets how the server connects to pods, before its first request. Without it the server connects to the address
// in the status of a pod.
func (s *Server) Forward(connect Connect) { s.connect = connect }

func connectTo(ctx context.Context, pod *corev1.Pod, port string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", net.JoinHostPort(pod.Status.PodIP, port))
}

// forward connects a client to the ports of a pod.
func (s *Server) forward(w http.ResponseWriter, q request) {
	got, err := s.store.get(q.in(), q.key)
	if err != nil {
		refuse(w, err)
		return
	}
	pod, ok := got.Object.(*corev1.Pod)
	if !ok {
		return
	}
	up := websocket.Upgrader{Subprotocols: []string{utilportforward.WebsocketsSPDYTunnelingPortForwardV1}}
	ws, err := up.Upgrade(w, q.Request, nil)
	if err != nil {
		return // it has answered
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	f := &forwarder{ctx: ctx, pod: pod, backend: s.connect, errors: map[string]httpstream.Stream{}}
	tunnel := portforward.NewTunnelingConnection("server", ws)
	conn, err := spdy.NewServerConnection(tunnel, f.accept)
	if err != nil {
		_ = tunnel.Close()
		return
	}
	<-conn.CloseChan()
	_ = conn.Close()
	_ = tunnel.Close()
}

// forwarder pairs the streams of a connection by their request ids, and connects them.
type forwarder struct {
	ctx     context.Context // ends with the connection
	pod     *corev1.Pod
	backend Connect
	mu      sync.Mutex
	errors  map[string]httpstream.Stream
}

func (f *forwarder) accept(s httpstream.Stream, _ <-chan struct{}) error {
	id := s.Headers().Get(corev1.PortForwardRequestIDHeader)
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
		f.errors[id] = s
		return nil
	}
	failed := f.errors[id]
	delete(f.errors, id)
	go f.connect(s, failed)
	return nil
}

func (f *forwarder) connect(data, failed httpstream.Stream) {
	port := data.Headers().Get(corev1.PortHeader)
	backend, err := f.backend(f.ctx, f.pod, port)
	if err != nil {
		_, _ = io.WriteString(failed, "dial tcp4 "+f.pod.Status.PodIP+":"+port+": connect: connection refused")
		_ = failed.Close()
		_ = data.Reset()
		return
	}
	defer backend.Close()
	go func() {
		_, _ = io.Copy(backend, data)
		_ = backend.Close()
	}()
	_, _ = io.Copy(data, backend)
	_ = failed.Close()
	_ = data.Close()
}

package memoryapi

import (
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

// forward connects a client to the ports of a pod, at the address in the pod's status.
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
	f := &forwarder{host: pod.Status.PodIP, errors: map[string]httpstream.Stream{}}
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
	host   string
	mu     sync.Mutex
	errors map[string]httpstream.Stream
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
	backend, err := net.Dial("tcp", net.JoinHostPort(f.host, port))
	if err != nil {
		_, _ = io.WriteString(failed, "dial tcp4 "+f.host+":"+port+": connect: connection refused")
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

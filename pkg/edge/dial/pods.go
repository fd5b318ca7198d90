package dial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// connectTimeout bounds asking for a pod and upgrading a connection to it. When the pod's node is
// lost, the API server answers only after 30 s.
const connectTimeout = 15 * time.Second

const closeTimeout = 2 * time.Second

// Pods reaches pods through the API server. Its zero value is not usable; see NewPods. It is safe for concurrent use.
type Pods struct {
	config *rest.Config
	core   *corev1client.CoreV1Client
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	// flights lets parallel dials of a pod share one read of the pod and one upgrade.
	flights singleflight.Group
	// spdyOnly is set when the API server has refused a websocket, to save that request the next
	// time.
	spdyOnly atomic.Bool

	told
	spares   spares
	mu       sync.Mutex
	sessions map[types.NamespacedName]*session
}

// NewPods returns a dialer that uses config's API server and credentials. It connects to nothing yet.
func NewPods(config *rest.Config) (*Pods, error) {
	config, core, err := unlimited(config)
	if err != nil {
		return nil, fmt.Errorf("create port-forward dialer: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Pods{
		config: config, core: core, ctx: ctx, cancel: cancel,
		sessions: map[types.NamespacedName]*session{},
	}, nil
}

// unlimited returns a client without a rate limit. There is one read per dial, callers limit the number of dials,
// and a wait here would look like a slow pod.
func unlimited(config *rest.Config) (*rest.Config, *corev1client.CoreV1Client, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0 // a timeout would end every stream after that time
	config.QPS = -1
	core, err := corev1client.NewForConfig(config)
	return config, core, err
}

// DialContext connects to the pod and port that addr names; see Members.
func (p *Pods) DialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	t, err := parseAddress(addr)
	if err != nil {
		return nil, err
	}
	return p.dial(ctx, t)
}

// Forward connects to a port of a pod.
func (p *Pods) Forward(ctx context.Context, namespace, pod string, port int) (net.Conn, error) {
	return p.dial(ctx, target{namespace: namespace, pod: pod, port: port})
}

// Tell implements Told. It ends connections to pods that are ending, if a connection is from before that. The
// processes close their ports. A request on an open connection takes a second to fail, because the container runtime
// waits so long for the connection's other direction. A new connection is accepted or refused at once.
func (p *Pods) Tell(pods []*corev1.Pod) (over func()) {
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			continue
		}
		p.mu.Lock()
		s := p.sessions[keyOf(pod)]
		p.mu.Unlock()
		if s != nil && s.uid == pod.UID && !s.late {
			s.close()
		}
	}
	return p.told.Tell(pods)
}

// Close ends every connection, also the connections that callers have. It waits for their ends as long as a
// working network needs.
func (p *Pods) Close() error {
	p.cancel()
	p.mu.Lock()
	sessions := slices.Collect(maps.Values(p.sessions))
	p.mu.Unlock()
	for _, s := range sessions {
		s.close()
	}
	patience := time.After(closeTimeout)
	for _, s := range sessions {
		select {
		case <-s.up.conn.CloseChan():
		case <-patience:
			return nil
		}
	}
	return nil
}

func (p *Pods) dial(ctx context.Context, t target) (net.Conn, error) {
	s, err := p.session(ctx, t)
	if err != nil {
		return nil, err
	}
	conn, err := s.open(ctx, t)
	if err != nil && !s.alive() && ctx.Err() == nil && p.ctx.Err() == nil {
		// The shared connection was lost since its last use, and this dial is the first to notice: it dials once more.
		if s, err = p.session(ctx, t); err == nil {
			conn, err = s.open(ctx, t)
		}
	}
	return conn, err
}

// session returns the live connection for a pod. A singleflight call opens it, so that other callers still get the
// connection if the first caller gives up.
func (p *Pods) session(ctx context.Context, t target) (*session, error) {
	key := types.NamespacedName{Namespace: t.namespace, Name: t.pod}
	flight := p.flights.DoChan(key.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(p.ctx, connectTimeout)
		defer cancel()
		return p.refresh(ctx, key)
	})
	select {
	case r := <-flight:
		if r.Err == nil {
			return r.Val.(*session), nil
		}
		var failure *ForwardError
		if errors.As(r.Err, &failure) { // shared by dials of several ports
			return nil, t.fail(failure.Reason, failure.Err)
		}
		return nil, t.fail(Unreachable, r.Err)
	case <-ctx.Done():
		return nil, t.fail(Unreachable, ctx.Err())
	}
}

// refresh reads the pod, and returns its session if that is alive and of the same pod. A recreated pod has another
// UID, and the old connection may stay open long after the old pod is gone.
func (p *Pods) refresh(ctx context.Context, key types.NamespacedName) (*session, error) {
	if p.ctx.Err() != nil {
		return nil, &ForwardError{Reason: Closed}
	}
	pod, err := p.podOf(key), error(nil)
	if pod == nil {
		pod, err = p.core.Pods(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	}
	p.mu.Lock()
	old := p.sessions[key]
	p.mu.Unlock()
	if old != nil && (apierrors.IsNotFound(err) || err == nil && pod.UID != old.uid) {
		old.close()
	}
	if err == nil {
		err = running(pod)
	}
	if err != nil {
		return nil, classify(p.ctx, "get", "pods", err)
	}
	if old != nil && old.alive() {
		return old, nil
	}
	up, err := p.upgrade(ctx, key)
	if err != nil {
		return nil, classify(p.ctx, "get, create", "pods/portforward", nodeMissing(pod, err))
	}
	s := newSession(pod.UID, up, p.spares.add)
	s.late = pod.DeletionTimestamp != nil
	return p.keep(key, s)
}

func (p *Pods) keep(key types.NamespacedName, s *session) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		s.close()
		return nil, &ForwardError{Reason: Closed}
	}
	p.sessions[key] = s
	go func() {
		<-s.up.conn.CloseChan()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.sessions[key] == s {
			delete(p.sessions, key)
		}
	}()
	return s, nil
}

// running returns an error if a pod cannot be connected to. A pod that is being deleted can be: it
// serves until it ends.
func running(pod *corev1.Pod) error {
	switch {
	case pod.Status.Phase != corev1.PodRunning:
		return &ForwardError{Reason: PodNotRunning, Err: fmt.Errorf("phase %s", pod.Status.Phase)}
	case pod.Status.Reason == "NodeLost":
		return &ForwardError{Reason: PodNotRunning, Err: errors.New("its node is lost")}
	}
	return nil
}

// nodeMissing returns an error that names the node of a pod, where the API server says that the node does not exist.
// Without that the answer would read as if the pod did not exist.
func nodeMissing(pod *corev1.Pod, err error) error {
	if node := pod.Spec.NodeName; apierrors.IsNotFound(err) && strings.Contains(err.Error(), fmt.Sprintf("nodes %q not found", node)) {
		return &ForwardError{Reason: NodeNotFound, Err: errors.New(node)}
	}
	return err
}

// classify returns an error of the API server with its reason. A missing permission comes with the rule that would
// allow it.
func classify(closed context.Context, verbs, resource string, err error) *ForwardError {
	var failure *ForwardError
	switch {
	case closed.Err() != nil:
		return &ForwardError{Reason: Closed}
	case errors.As(err, &failure):
		return failure
	case apierrors.IsNotFound(err):
		return &ForwardError{Reason: PodNotFound}
	case apierrors.IsUnauthorized(err):
		return &ForwardError{Reason: Forbidden, Err: fmt.Errorf("the API server takes no such credentials: %w", err)}
	case denial.Missing(err):
		return &ForwardError{Reason: Forbidden, Err: fmt.Errorf(
			`%w (needs an RBAC rule with apiGroups [""], resources [%s], verbs [%s])`, err, resource, verbs)}
	}
	return &ForwardError{Reason: Unreachable, Err: err}
}

package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// directTimeout bounds connecting: a pod whose node is down does not even refuse a connection.
const directTimeout = 5 * time.Second

// Direct connects to the addresses of pods, for use in the cluster, where they are reachable.
//
// It gets them from the API server and not from DNS. For as long as answers are cached, usually 30 s, DNS still
// returns the former address of a recreated pod, or that there is none. Every restart would take that much longer,
// and another pod may have got the address meanwhile. It also makes Direct work wherever pod addresses can be
// reached, also without the cluster's DNS.
type Direct struct {
	told
	pod  func(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	open Connect
}

// NewDirect returns a dialer that asks config's API server for pods. It connects to nothing yet. Connections to pods
// are made as those to the API server are, where config says how.
func NewDirect(config *rest.Config) (*Direct, error) {
	_, core, err := unlimited(config)
	if err != nil {
		return nil, fmt.Errorf("create direct dialer: %w", err)
	}
	return DirectFrom(func(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
		return core.Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	}, config.Dial), nil
}

// DirectFrom returns a dialer for a caller that has pods already, for example from a watch. Connect makes the
// connections; nil stands for TCP.
func DirectFrom(pod func(ctx context.Context, namespace, name string) (*corev1.Pod, error), connect Connect) *Direct {
	if connect == nil {
		to := net.Dialer{KeepAlive: 15 * time.Second}
		connect = to.DialContext
	}
	return &Direct{pod: pod, open: connect}
}

// DialContext connects to the pod and port that addr names; see Members.
func (d *Direct) DialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	t, err := parseAddress(addr)
	if err != nil {
		return nil, err
	}
	host, err := d.address(ctx, t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, directTimeout)
	defer cancel()
	conn, err := d.open(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(t.port)))
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, refused):
		return nil, t.fail(Refused, nil)
	}
	return nil, t.fail(Unreachable, err)
}

// address returns the pod's current address.
func (d *Direct) address(ctx context.Context, t target) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	pod, err := d.podOf(types.NamespacedName{Namespace: t.namespace, Name: t.pod}), error(nil)
	if pod == nil {
		pod, err = d.pod(ctx, t.namespace, t.pod)
	}
	if err == nil {
		err = running(pod)
	}
	if err != nil {
		failure := classify(context.Background(), "get", "pods", err)
		return "", t.fail(failure.Reason, failure.Err)
	}
	if pod.Status.PodIP == "" {
		return "", t.fail(PodNotRunning, errors.New("it has no address yet"))
	}
	return pod.Status.PodIP, nil
}

// Close does nothing: Direct holds no connection.
func (*Direct) Close() error { return nil }

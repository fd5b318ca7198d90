package dial

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// target is a port of a pod.
type target struct {
	namespace, pod string
	port           int
}

func (t target) String() string { return fmt.Sprintf("%s/%s:%d", t.namespace, t.pod, t.port) }

// Network and String make a target the net.Addr of a connection to it.
func (target) Network() string { return "pod" }

func (t target) fail(reason Reason, err error) *ForwardError {
	return &ForwardError{Namespace: t.namespace, Pod: t.pod, Port: t.port, Reason: reason, Err: err}
}

// parseAddress reads <pod>.<peer service>.<namespace>[.svc[.<cluster domain>]]:<port>. The peer service is not checked:
// the pod's name is unique in its namespace without it.
func parseAddress(addr string) (target, error) {
	bad := func(format string, args ...any) (target, error) {
		return target{}, &ForwardError{Pod: addr, Reason: BadAddress, Err: fmt.Errorf(format, args...)}
	}
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return bad("%w", err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return bad("port %q is not a number from 1 to 65535", portText)
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	switch {
	case net.ParseIP(host) != nil:
		return bad("an IP address, not the name of a pod")
	case len(labels) == 3 && labels[2] == "svc":
		return bad("a service, not one of its pods")
	case len(labels) < 3, len(labels) > 3 && labels[3] != "svc":
		return bad("want <pod>.<service>.<namespace>.svc")
	}
	for _, l := range labels {
		if l == "" {
			return bad("want <pod>.<service>.<namespace>.svc")
		}
	}
	return target{namespace: labels[2], pod: labels[0], port: int(port)}, nil
}

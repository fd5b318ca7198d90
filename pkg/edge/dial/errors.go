package dial

import "fmt"

// Reason is why a pod could not be reached. It is an error so that errors.Is(err, dial.Forbidden) works.
type Reason string

// Reasons why a pod could not be reached.
const (
	// BadAddress: the address does not name a pod.
	BadAddress Reason = "address does not name a pod"
	// Foreign: no member of the cluster that is asked has the address.
	Foreign Reason = "no member of the cluster"
	// PodNotFound: there is no pod of that name.
	PodNotFound Reason = "pod not found"
	// NodeNotFound: the pod exists, and the API server knows no node of the name that the pod has. The host was removed.
	NodeNotFound Reason = "the node of the pod does not exist any more"
	// PodNotRunning: the pod exists and has no running container to connect to.
	PodNotRunning Reason = "pod is not running"
	// Refused: the pod runs and nothing listens on the port.
	Refused Reason = "connection refused"
	// Forbidden: the user may not do this; the error names the permission.
	Forbidden Reason = "forbidden"
	// Unreachable: the pod, the API server or the kubelet could not be reached, or the connection
	// broke.
	Unreachable Reason = "cannot be reached"
	// Overrun: the peer has sent more unread bytes than are kept for the reader.
	Overrun Reason = "reader too slow"
	// Closed: the dialer was closed.
	Closed Reason = "dialer is closed"
)

// Error returns the reason's text.
func (r Reason) Error() string { return string(r) }

// ForwardError says which pod and port could not be reached, and why.
type ForwardError struct {
	Namespace, Pod string
	Port           int
	Reason         Reason
	// Err is the cause; nil when the reason is enough.
	Err error
}

// Error names the pod, the port and the reason.
func (e *ForwardError) Error() string {
	s := fmt.Sprintf("connect to pod %s/%s port %d: %v", e.Namespace, e.Pod, e.Port, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the reason and the cause, for errors.Is and errors.As.
func (e *ForwardError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}

// Refused reports whether the pod runs and nothing listens on the port.
func (e *ForwardError) Refused() bool { return e.Reason == Refused }

// Elsewhere reports whether the address is that of no member of the cluster. It may be a member of another part, which
// only members reach.
func (e *ForwardError) Elsewhere() bool { return e.Reason == Foreign }

// Permanent reports whether another attempt cannot succeed until a person changes something.
func (e *ForwardError) Permanent() bool {
	return e.Reason == Forbidden || e.Reason == BadAddress || e.Reason == Foreign || e.Reason == Closed
}

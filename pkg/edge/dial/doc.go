// Package dial opens connections to the pods of a TiDB cluster, by the DNS names that its
// components use.
//
// It exists because the plugin runs where those names do not resolve and pod addresses do not route. There Pods is
// the dialer. It turns basic-pd-0.basic-pd-peer.ns.svc:2379 into a port-forward stream through the API server, as a
// net.Conn. So http.Transport, TLS with the cluster's own certificates (server name included), gRPC and a SQL driver
// work over it unchanged. Direct is the dialer inside the cluster: it connects to the pod's address.
//
// The contract of both:
//
//   - Members, which is made of a Dialer, connects to the members of a single cluster only. Client is
//     the only maker of HTTP clients for members, and follows no redirect.
//   - Every dial asks the API server for the pod first, unless its caller has just read the pod and
//     told it; see Told. So for a pod that is gone or not running the error comes at once and names
//     the reason, and no connection goes to a pod that only has its former address, or to a former
//     pod of that name.
//   - A dial ends when its context does.
//   - Failures are *ForwardError; errors.Is compares it with a Reason (Forbidden, PodNotFound, …).
//
// The contract of Pods has also:
//
//   - There is one connection to the API server per pod. All streams of the pod share this connection.
//     When it is lost, it is opened again.
//   - A dial can succeed although nothing listens on the port: the API server acknowledges a stream
//     before the kubelet connects to the port. Then Read returns the *ForwardError.
//
// Both need the permission to get pods, Pods also those to get and create pods/portforward; ForwardError's text names
// the one that is missing.
package dial

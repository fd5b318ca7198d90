// Package dial opens connections to the pods of a TiDB cluster, by the DNS names its components know each other by.
//
// It exists because the plugin runs where those names do not resolve and pod addresses do not route. Pods is the dialer
// for that place: it turns basic-pd-0.basic-pd-peer.ns.svc:2379 into a port-forward stream through the API server, as a
// net.Conn, so that http.Transport, TLS with the cluster's own certificates (server name included), gRPC and a SQL
// driver work over it unchanged. Direct is the dialer inside the cluster: it connects to the pod's address.
//
// The contract of both:
//
//   - Every dial asks the API server for the pod first. So a pod that is gone or not running fails at once with words,
//     and nobody is taken for a pod who only has its former address, or a connection to its predecessor.
//   - A dial ends when its context does.
//   - Failures are *ForwardError; errors.Is with a Reason (Forbidden, PodNotFound, …) tells which.
//
// That of Pods besides:
//
//   - One connection to the API server per pod, shared by all its streams, made again when it is lost.
//   - That nothing listens on the port is often known only after the dial succeeded: the API server acknowledges a
//     stream before the kubelet connects to the port. Then Read returns the *ForwardError.
//
// Both need the permission to get pods, Pods also those to get and create pods/portforward; ForwardError's text names the
// one that is missing.
package dial

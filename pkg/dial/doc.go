// Package dial opens connections to the pods of a TiDB cluster, by the DNS names its components know each other by.
//
// It exists because the plugin runs where those names do not resolve and pod addresses do not route. Pods is the dialer
// for that place: it turns basic-pd-0.basic-pd-peer.ns.svc:2379 into a port-forward stream through the API server, as a
// net.Conn, so that http.Transport, TLS with the cluster's own certificates (server name included), gRPC and a SQL
// driver work over it unchanged. Direct is the dialer inside the cluster.
//
// The contract of Pods:
//
//   - One connection to the API server per pod, shared by all its streams, made again when it is lost.
//   - Every dial asks the API server for the pod first. So a pod that is gone or not running fails at once with words,
//     and a pod that was re-created under its name never gets a stream of its predecessor.
//   - A dial ends when its context does.
//   - Failures are *ForwardError; errors.Is with a Reason (Forbidden, PodNotFound, …) tells which.
//   - That nothing listens on the port is often known only after the dial succeeded: the API server acknowledges a
//     stream before the kubelet connects to the port. Then Read returns the *ForwardError.
//
// It needs the permissions named in ForwardError's text: get pods, and get and create pods/portforward.
package dial

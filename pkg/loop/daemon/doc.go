// Package daemon keeps clusters converged for as long as it runs. It uses the
// engine of the foreground commands, for many clusters, with another source of
// reads, other pauses and no end.
//
// The Kubernetes objects of clusters are read from a mirror that watches keep up to date. So a converged cluster
// costs the API server nothing. The mirror keeps objects encoded, see docs/adr/0014-a-mirror-is-kept-encoded.md.
// Members report nothing by themselves. They are asked seldom in a converged cluster, and often in a cluster that
// waits for them. A disruptive step is decided again on live reads, as in the foreground.
//
// The holder of a cluster's Lease drives it. The daemon takes the Lease when there is something to do or to wait
// for, and releases it shortly after the cluster has converged. To renew the leases of a thousand converged clusters
// would be hundreds of writes per second. So several daemons share their clusters without knowing each other, and a
// foreground command finds the lease free. When a daemon is killed, another daemon continues the unfinished clusters
// after the duration of the lease.
package daemon

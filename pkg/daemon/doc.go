// Package daemon keeps clusters converged for as long as it runs: the engine of
// the foreground commands, for many clusters, with another source of reads, other
// pauses and no end.
//
// What clusters consist of in Kubernetes is read from a mirror that watches keep
// up to date, so that a cluster that is as wanted costs the API server nothing. It
// keeps objects encoded, see docs/adr/0014-a-mirror-is-kept-encoded.md.
// PD, TiKV and TiDB report nothing by themselves: of a converged cluster they are
// asked now and then, of one that waits for them again and again. What disturbs
// somebody is decided anew on live reads, as in the foreground.
//
// A cluster is driven by who holds its Lease. The daemon takes it when there is
// something to do or to wait for, and lets go of it a little after the cluster
// has converged: renewing a thousand leases of clusters that want nothing would
// be hundreds of writes per second. So several daemons share their clusters
// without knowing each other, a foreground command finds the lease free, and a
// daemon that is killed is replaced, within the lease's time, exactly where there
// is something to go on with.
package daemon

// Package lease makes one process at a time the driver of a TiDB cluster. Foreground commands and the daemon use a
// coordination.k8s.io Lease of the same name. Two drivers would decide by the same rules, but each on its own
// observation. What PD says has no version that a write could be conditional on.
//
// The rules are those of client-go's leader election. A holder renews, and stops before the lease's end when it
// cannot renew. Other processes may take over when the record has not changed for its whole duration by their own
// clock. Clocks of two hosts are never compared. Each write first checks that the lease is still held, see Guard,
// also a write that cleans up after an interrupt.
//
// It does not use client-go's LeaderElector, because that one waits where a command has to answer, and only logs
// what a command has to report. Here a live holder is an error that names it; so is a missing permission, which the
// elector would retry for ever. A holder may be known to be dead, because it ran on this machine and its process
// does not exist. Such a holder is replaced at once, so that a killed run can be resumed without a wait. And a
// process that finds another holder in the Lease stops at once, instead of trying to renew up to the deadline.
package lease

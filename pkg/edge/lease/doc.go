// Package lease makes one process at a time the driver of a TiDB cluster, by a
// coordination.k8s.io Lease of the same name for foreground commands and the
// daemon. Two drivers would decide by the same rules, but each on its own
// observation, and what PD says has no version that a write could be conditional
// on.
//
// The rules are those of client-go's leader election: a holder renews, others may
// take over when the record has not changed for its whole duration by their own
// clock, and a holder that cannot renew stops before that. Clocks of two hosts are
// never compared. Each write first checks that the lease is still held, see Guard,
// also a write that cleans up after an interrupt.
//
// It does not use client-go's LeaderElector, because that one waits where a command
// has to answer, and only logs what a command has to report. Here a live holder is
// an error that names it; so is a missing permission, which the elector would retry
// for ever. A holder that is known to be dead, because it ran on this machine and
// its process does not exist, is replaced at once, so that a killed run can be
// resumed without a wait. And a process that finds another holder in the Lease
// stops at once, instead of trying to renew up to the deadline.
package lease

// Package lease makes one process at a time the driver of a TiDB cluster, by a
// coordination.k8s.io Lease of the same name for foreground commands and the
// daemon. Two drivers would decide alike, but each on its own observation, and
// what PD says has no version that a write could be conditional on.
//
// The rules are those of client-go's leader election: a holder renews, others
// may take over when the record has not changed for its whole duration by their
// own clock, and a holder that cannot renew stops before that. Clocks are never
// compared with each other. Each write asks first whether the lease still holds,
// see Guard, also one that cleans up after an interrupt.
//
// It is not built on client-go's LeaderElector, because that one waits where a
// command has to answer, and logs what a command has to tell. Here a live holder
// is an error that names it; so is a missing permission, which the elector would
// retry for ever. A holder that is known to be dead, because it ran on this
// machine and its process is gone, is replaced at once, so that a killed run can
// be resumed without a wait. And who finds the lease in other hands stops at
// once instead of trying to renew up to the deadline.
package lease

package state

import "time"

// ClocksApart is more than the difference between the clocks of two hosts of one database. PD dates
// heartbeats by the clock of one host, and the kubelet the start of a process by the clock of another host.
const ClocksApart = 5 * time.Minute

package state

import "time"

// LogBackup is a task of log backup (point-in-time recovery).
type LogBackup struct {
	Task string
	// Paused: it goes no further, by a person or after an error.
	Paused bool
	// Behind is how long ago the time is to which the log backup can restore the cluster. It is zero where that is
	// not known.
	Behind time.Duration
}

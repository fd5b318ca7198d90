package pd

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// LogBackup is a task of log backup (point-in-time recovery), as it is registered in PD's etcd.
type LogBackup struct {
	Task string
	// Paused: it goes no further, by a person or after an error.
	Paused bool
	// Start is from when changes are in the backup, by PD's clock.
	Start time.Time
	// Storage is the URL of the place, without parameters; "" where it is neither a folder nor in S3 or GCS.
	Storage string
	// Filters name the tables in it, as BR's --filter.
	Filters []string
	// Pause says who has paused it, and why.
	Pause LogBackupPause
	// Errors are the last errors of stores, by their ids.
	Errors []LogBackupError
	// Checkpoint is up to when all changes are in the backup, by PD's clock; zero where PD's etcd does not say that yet.
	Checkpoint time.Time
	// Answered is when PD answered by the clock of the answering member, cut to seconds; zero when PD does not say so.
	Answered time.Time
}

const (
	logBackupPrefix = "/tidb/br-stream/"
	logBackupEnd    = "/tidb/br-stream0"
)

// LogBackups implements Client. BR and TiDB keep this in PD's etcd: a task is one that has its information there.
func (c *client) LogBackups(ctx context.Context) ([]LogBackup, error) {
	entries, answered, err := c.etcdEntries(ctx, "list log backups", logBackupPrefix, logBackupEnd)
	if err != nil {
		return nil, err
	}
	var all []LogBackup
	for _, e := range entries {
		if kind, task, of := logBackupKey(e.Key); kind == "info" && of == "" && task != "" {
			b := LogBackup{Task: task, Answered: answered}
			b.setInformation(e.Value)
			all = append(all, b)
		}
	}
	for _, e := range entries {
		kind, task, of := logBackupKey(e.Key)
		if i := slices.IndexFunc(all, func(b LogBackup) bool { return b.Task == task }); i >= 0 {
			all[i].set(kind, of, e.Value)
		}
	}
	slices.SortFunc(all, func(a, b LogBackup) int { return strings.Compare(a.Task, b.Task) })
	return all, nil
}

// logBackupKey returns the parts of a key: <kind>/<task>[/<of>].
func logBackupKey(key []byte) (kind, task, of string) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(string(key), logBackupPrefix), "/")
	task, of, _ = strings.Cut(rest, "/")
	return kind, task, of
}

// set sets what an entry says of the task.
func (b *LogBackup) set(kind, of string, value []byte) {
	switch kind {
	case "pause":
		b.Paused, b.Pause = true, pauseOf(value)
	case "checkpoint":
		if of == "central_global" {
			b.Checkpoint = timestamp(value)
		}
	case "last-error":
		b.Errors = append(b.Errors, lastError(value))
		slices.SortFunc(b.Errors, func(x, y LogBackupError) int { return cmp.Compare(x.Store, y.Store) })
	}
}

package pd

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"time"
)

// LogBackup is a task of log backup (point-in-time recovery), as it is registered in PD's etcd.
type LogBackup struct {
	Task string
	// Paused: it goes no further, by a person or after an error.
	Paused bool
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
	paused, reached := map[string]bool{}, map[string]time.Time{}
	var all []LogBackup
	for _, e := range entries {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(string(e.Key), logBackupPrefix), "/")
		task, of, _ := strings.Cut(rest, "/")
		switch {
		case kind == "info" && of == "" && task != "":
			all = append(all, LogBackup{Task: task, Answered: answered})
		case kind == "pause":
			paused[task] = true
		case kind == "checkpoint" && of == "central_global" && len(e.Value) == 8:
			reached[task] = physical(int64(binary.BigEndian.Uint64(e.Value))) //nolint:gosec // a timestamp has 63 bits
		}
	}
	for i := range all {
		all[i].Paused, all[i].Checkpoint = paused[all[i].Task], reached[all[i].Task]
	}
	slices.SortFunc(all, func(a, b LogBackup) int { return strings.Compare(a.Task, b.Task) })
	return all, nil
}

package act

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tikv"
)

const (
	// flushLimit is how long a store may take to flush its log backup. TiKV does so by itself every three minutes.
	flushLimit = 3 * time.Minute
	// flushedAtOnce is how long a flush may take for the restart to go on as it was decided. After a longer flush
	// other members may have ceased to serve, so the restart is decided again.
	flushedAtOnce = 2 * time.Second
)

// LogBackups has stores flush their log backup, and reports a store that has not done so.
type LogBackups struct {
	Flush  func(ctx context.Context, c topology.Cluster, ordinal int) ([]tikv.Flushed, error)
	Notice func(text string)
}

// OnLogBackup sets how log backups are flushed; without it none is.
func (a *Actor) OnLogBackup(l LogBackups) *Actor {
	a.logBackups, a.flushed = l, map[string]bool{}
	return a
}

// flushedError ends a step after which the restart is decided again.
type flushedError struct{ member string }

func (e *flushedError) Error() string {
	return "the log backup of " + e.member + " was flushed first, so that its restart is decided again"
}

// Stale implements reconcile.Outdated: the next attempt does not flush again.
func (e *flushedError) Stale() bool { return true }

// flushLog has a store upload what its log backup (point-in-time recovery) has not uploaded yet. Otherwise the
// checkpoint of the whole cluster waits for the store after its restart, for up to hours. A store that does not flush
// is restarted all the same, which a notice says.
func (a *Actor) flushLog(ctx context.Context, s step.Restart) error {
	if !s.FlushLog || a.logBackups.Flush == nil || a.flushed[s.PodUID] || !a.hasLogBackup(ctx) {
		return nil
	}
	begun := time.Now()
	limited, cancel := context.WithTimeout(ctx, flushLimit)
	defer cancel()
	tasks, err := a.logBackups.Flush(limited, a.cluster, s.Ordinal)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	a.flushed[s.PodUID] = true
	if why := notFlushed(tasks, err); why != "" {
		a.logBackups.Notice(fmt.Sprintf("%s is restarted without having flushed its log backup, whose checkpoint may stay behind for a while: %s", s.Member, why))
	}
	if time.Since(begun) >= flushedAtOnce {
		return &flushedError{s.Member}
	}
	return nil
}

// hasLogBackup reports whether there is a task of log backup. Where that cannot be read the store itself is asked.
func (a *Actor) hasLogBackup(ctx context.Context) bool {
	client, err := a.database()
	if err != nil {
		return true
	}
	tasks, err := client.LogBackups(ctx)
	return err != nil || len(tasks) > 0
}

// notFlushed returns why a log backup was not flushed. It returns "" where the log backup was flushed, and where
// this version of TiKV never flushes when it is asked.
func notFlushed(tasks []tikv.Flushed, err error) string {
	if errors.Is(err, tikv.ErrNoFlush) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, t := range tasks {
		if t.Problem != "" {
			all = append(all, fmt.Sprintf("task %.100q: %.200q", t.Task, t.Problem))
		}
	}
	return strings.Join(all, ", ")
}

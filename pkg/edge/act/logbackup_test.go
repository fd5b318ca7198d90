package act

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tikv"
)

// TestFlushLog: a store flushes its log backup before it is restarted, once, and only where there is a task. What it
// does not flush is a notice, and never keeps it from its restart.
func TestFlushLog(t *testing.T) {
	next := step.Restart{Member: "basic-tikv-1", Ordinal: 1, PodUID: "u", FlushLog: true}
	for name, tt := range map[string]struct {
		step   func(*step.Restart)
		tasks  []pd.LogBackup
		unread bool // PD's etcd
		takes  time.Duration
		result []tikv.Flushed
		err    error
		asked  int
		again  bool   // the restart is decided again
		notice string // a part
	}{
		"there is no task":        {},
		"a user wants none":       {step: func(s *step.Restart) { s.FlushLog = false }, tasks: []pd.LogBackup{{Task: "a"}}},
		"it is flushed":           {tasks: []pd.LogBackup{{Task: "a"}}, result: []tikv.Flushed{{Task: "a"}}, asked: 1},
		"it is not known":         {unread: true, asked: 1},
		"TiKV cannot do it":       {tasks: []pd.LogBackup{{Task: "a"}}, err: fmt.Errorf("flush: %w", tikv.ErrNoFlush), asked: 1},
		"a task is not flushed":   {tasks: []pd.LogBackup{{Task: "a"}}, result: []tikv.Flushed{{Task: "a", Problem: "no space"}}, asked: 1, notice: `task "a": "no space"`},
		"it fails":                {tasks: []pd.LogBackup{{Task: "a"}}, err: errors.New("refused"), asked: 1, notice: "refused"},
		"it takes long":           {tasks: []pd.LogBackup{{Task: "a"}}, takes: time.Minute, asked: 1, again: true},
		"the store never answers": {tasks: []pd.LogBackup{{Task: "a"}}, takes: time.Hour, asked: 1, again: true, notice: "deadline exceeded"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newFixture(t)
			w.pd.Update(func(s *pd.FakeState) { s.LogBackups, s.Unreachable = tt.tasks, tt.unread })
			asked, notice := 0, ""
			w.OnLogBackup(LogBackups{
				Flush: func(ctx context.Context, _ topology.Cluster, ordinal int) ([]tikv.Flushed, error) {
					if asked++; ordinal != 1 {
						t.Errorf("%s: ordinal %d", name, ordinal)
					}
					select {
					case <-time.After(tt.takes):
						return tt.result, tt.err
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				},
				Notice: func(text string) { notice = text },
			})
			s := next
			if tt.step != nil {
				tt.step(&s)
			}
			begun := time.Now()
			err := w.flushLog(t.Context(), s)
			var again *flushedError
			if errors.As(err, &again) != tt.again || err != nil && !again.Stale() || time.Since(begun) > flushLimit {
				t.Errorf("%s: %v after %s", name, err, time.Since(begun))
			}
			if err := w.flushLog(t.Context(), s); err != nil || asked != tt.asked {
				t.Errorf("%s: then %v, asked %d times", name, err, asked)
			}
			if (notice == "") != (tt.notice == "") || !strings.Contains(notice, tt.notice) {
				t.Errorf("%s: notice %q", name, notice)
			}
		})
	}
}

package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestLogBackupFlushed: a log backup runs. Each store flushes it, over gRPC, before the store is restarted.
func TestLogBackupFlushed(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.members.LogBackups = []string{"pitr"}
		w.Must(t, 0, "restart", "basic", "tikv", "--yes")
		for i, p := range w.pods(topology.TiKV) {
			at := w.flushed(i)
			if len(at) != 1 || at[0].After(p.CreationTimestamp.Time) {
				t.Errorf("store %d has a new pod since %s, and was asked to flush at %v", i, p.CreationTimestamp.Time, at)
			}
		}
	})
}

// TestLogBackupNotFlushed: stores cannot flush the log backup. They are restarted all the same, which the run says of
// each.
func TestLogBackupNotFlushed(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.members.LogBackups, w.members.FlushFails = []string{"pitr"}, "the storage is full"
		r := w.Must(t, 0, "restart", "basic", "tikv", "--yes")
		for i := range 3 {
			wantText(t, r.Out+r.Err, fmt.Sprintf("basic-tikv-%d is restarted without having flushed its log backup", i))
		}
		wantText(t, r.Out+r.Err, "the storage is full")
	})
}

// flushed returns when a store was asked to flush its log backup.
func (w *World) flushed(ordinal int) (at []time.Time) {
	for _, q := range w.requests {
		if strings.HasSuffix(q.What, "/FlushNow") && strings.HasPrefix(q.Server, w.cluster.PodHost(topology.TiKV, ordinal)) {
			at = append(at, q.At)
		}
	}
	return at
}

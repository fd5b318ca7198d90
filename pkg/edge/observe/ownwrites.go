package observe

import (
	"context"
	"slices"
	"sync"

	"k8s.io/client-go/metadata"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// OwnWrites are the writes of a TidbCluster's status by this process. A watch reports each of them as a change of the
// TidbCluster. Without OwnWrites each one would lead to another observation, of which nothing is learnt. A write is
// known by the version that it has made, so a change by another process is never taken for one. The zero value is ready to use. It is safe for concurrent use.
type OwnWrites struct {
	mu      sync.Mutex
	nudge   func()
	last    string   // the version that the last write made
	writing bool     // the version that a write makes is not known yet
	early   []string // the versions that were reported meanwhile
	written bool
}

// Watch is as the function Watch, and reports no version that one of these writes has made.
func (w *OwnWrites) Watch(ctx context.Context, client metadata.Interface, c topology.Cluster) <-chan struct{} {
	return watch(ctx, client, c, w)
}

// Do carries out a write of the status. What a watch reports during the write is decided about at its end.
func (w *OwnWrites) Do(write func() (version string, err error)) (version string, err error) {
	w.begin()
	defer func() { w.end(version) }()
	return write()
}

func (w *OwnWrites) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing, w.written = true, true
}

// end ends a write. The version is "" after a write that failed.
func (w *OwnWrites) end(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing, w.last = false, version
	others := slices.ContainsFunc(w.early, func(v string) bool { return v != version })
	if w.early = nil; others && w.nudge != nil {
		w.nudge()
	}
}

// report nudges unless a version of the TidbCluster is from one of these writes.
func (w *OwnWrites) report(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.writing:
		w.early = append(w.early, version)
	case version == "" || version != w.last:
		w.nudge()
	}
}

// Took reports whether there was a write since Took was called last. What was read before the write is outdated then.
func (w *OwnWrites) Took() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	written := w.written
	w.written = false
	return written
}

// reportTo sets what is called for a change by others.
func (w *OwnWrites) reportTo(nudge func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nudge = nudge
}

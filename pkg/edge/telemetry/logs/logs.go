// Package logs is the log of a daemon. It has a line for each event of a cluster, and the log of client-go, in one
// format and with the same keys.
//
// The keys stay: cluster, component, member, action, step, reason, observed,
// remedy, outcome, seconds, error. docs/logs.md lists them.
package logs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// Formats returns the formats that New accepts.
func Formats() []string { return []string{"text", "json"} }

// Log writes log lines. It implements reconcile.Reporter, and never blocks: lines for which a
// reader is too slow are dropped, and counted.
type Log struct {
	*slog.Logger
	out *pipe
	now func() time.Time

	mu    sync.Mutex
	gates map[gate]time.Time // when a line about it was written last
}

// gate identifies a gate as events do.
type gate struct {
	namespace, cluster string
	event.Gate
}

// numberEvery is how often a line is written of a number that changes.
const numberEvery = 30 * time.Second

// New makes a log in one of the Formats. Close ends it.
func New(format string, w io.Writer) (*Log, error) {
	var handler func(io.Writer) slog.Handler
	switch format {
	case "text":
		handler = func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) }
	case "json":
		handler = func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) }
	default:
		return nil, fmt.Errorf("unknown log format %q; it is one of: %s", format, strings.Join(Formats(), ", "))
	}
	out := newPipe(w, func(w io.Writer, lost int) {
		slog.New(handler(w)).Warn("lines of the log were dropped", "lines", lost)
	})
	return &Log{Logger: slog.New(handler(out)), out: out, now: time.Now, gates: map[gate]time.Time{}}, nil
}

// Close writes what is left, if that is possible in two seconds. Nothing is
// logged any more.
func (l *Log) Close() { l.out.close() }

// messages are the messages of log lines, by the type of the event.
var messages = map[event.Type]string{
	event.Planned: "planned", event.Started: "step started", event.Finished: "step finished", event.Failed: "step failed",
	event.Waiting: "waiting", event.Passed: "wait is over", event.Blocked: "blocked", event.Progress: "progress",
	event.Notice: "notice", event.Done: "done",
}

// Report implements reconcile.Reporter.
func (l *Log) Report(e event.Event) {
	if !l.due(e) {
		return
	}
	level := slog.LevelInfo
	switch e.Type {
	case event.Failed:
		level = slog.LevelError
	case event.Blocked:
		level = slog.LevelWarn
	}
	l.LogAttrs(context.Background(), level, messages[e.Type], attributes(e)...)
}

// due reports whether an event is to be written. All are, except numbers of a wait of
// which a line was written just now: these change several times per second.
func (l *Log) due(e event.Event) bool {
	at := gate{e.Namespace, e.Cluster, e.Gate()}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Type {
	case event.Waiting:
		if last, written := l.gates[at]; written && l.now().Sub(last) < numberEvery {
			return false
		}
		l.gates[at] = l.now()
	case event.Blocked, event.Passed:
		delete(l.gates, at)
	case event.Done:
		for g := range l.gates {
			if g.namespace == e.Namespace && g.cluster == e.Cluster {
				delete(l.gates, g)
			}
		}
	}
	return true
}

// attributes returns the attributes of an event, always in the same order.
func attributes(e event.Event) []slog.Attr {
	all := []slog.Attr{slog.String("cluster", e.Namespace+"/"+e.Cluster)}
	for _, a := range []slog.Attr{
		slog.String("component", e.Component), slog.String("member", e.Member), slog.String("action", e.Action),
		slog.String("step", e.Step), slog.String("reason", e.Reason), slog.String("message", e.Message), slog.String("observed", e.Observed),
		slog.String("remedy", e.Help()), slog.String("outcome", e.Outcome), slog.String("error", e.Error),
	} {
		if a.Value.String() != "" {
			all = append(all, a)
		}
	}
	if e.Ready != nil && e.Updated != nil && e.Wanted != nil {
		all = append(all, slog.Int("ready", *e.Ready))
		if e.Unknown > 0 {
			all = append(all, slog.Int("unknown", e.Unknown))
		}
		all = append(all, slog.Int("updated", *e.Updated), slog.Int("wanted", *e.Wanted))
	}
	if slices.Contains([]event.Type{event.Finished, event.Failed, event.Passed, event.Done}, e.Type) {
		all = append(all, slog.Float64("seconds", e.Seconds))
	}
	return all
}

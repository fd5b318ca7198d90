package logs

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"
)

var (
	// current is the log that has taken over last.
	current atomic.Pointer[Log]
	// redirected: klog is told only once where to log, because a goroutine that still runs may read that at the same time.
	redirected sync.Once
)

// TakeOver makes client-go, and everything else that logs with klog, log here. A process has one such log.
func (l *Log) TakeOver() {
	current.Store(l)
	redirected.Do(func() { klog.SetSlogLogger(slog.New(toCurrent{})) })
}

// toCurrent hands records to the log that has taken over last.
type toCurrent struct{}

// Enabled implements slog.Handler.
func (toCurrent) Enabled(ctx context.Context, level slog.Level) bool {
	return current.Load().Handler().Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (toCurrent) Handle(ctx context.Context, r slog.Record) error {
	return current.Load().Handler().Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (toCurrent) WithAttrs(attrs []slog.Attr) slog.Handler {
	return current.Load().Handler().WithAttrs(attrs)
}

// WithGroup implements slog.Handler.
func (toCurrent) WithGroup(name string) slog.Handler { return current.Load().Handler().WithGroup(name) }

package report

import (
	"bytes"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// lines writes every event as it is, one JSON object per line.
type lines struct {
	out       sink
	heartbeat time.Duration
	view      view
	now       func() time.Time
	wrote     time.Time // by our clock, whatever the events' is
}

func newLines(o Options) *lines {
	return &lines{out: sink{w: o.Out}, heartbeat: o.Heartbeat, now: o.Now, wrote: o.Now(), view: newView(o)}
}

func (l *lines) event(e event.Event) {
	l.view.fold(e)
	l.write(e)
}

func (l *lines) write(e event.Event) {
	var b bytes.Buffer
	encode(&b, e)
	l.out.write(b.Bytes())
	l.wrote = l.now()
}

// tick writes the gates again after a time without output. Some pipelines kill jobs without output, and a wait for
// leaders to leave can be long.
func (l *lines) tick(now time.Time) time.Duration {
	if l.view.end != nil {
		return l.heartbeat
	}
	if now.Sub(l.wrote) >= l.heartbeat {
		if len(l.view.gates) > 0 {
			e := l.view.gates[0].event
			e.Time = now.UTC()
			l.write(e)
		}
		l.wrote = now
	}
	return l.heartbeat - now.Sub(l.wrote)
}

func (l *lines) close(time.Time) {}

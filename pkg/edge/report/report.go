package report

import (
	"io"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// Options say where and how to report. Only the two writers are required.
type Options struct {
	Out    io.Writer // the result: JSON events
	ErrOut io.Writer // progress for people: TTY and Plain
	Mode   Mode

	NoColor bool
	ASCII   bool // show only ASCII characters
	// Size returns the size of the terminal before every redraw; nil, or a zero in its answer,
	// means 80 columns or 24 rows.
	Size func() (width, height int)

	// Heartbeat is the longest silence of Plain and JSON, 30 seconds by default.
	Heartbeat time.Duration
	// Flush is how long Close waits for a slow reader. By default it is a minute for JSON, which is the result of
	// the command, and 2 seconds for the other formats.
	Flush time.Duration
	// Now is the clock that ages are computed by; nil is the system's.
	Now func() time.Time

	// The target, and in a few words what is done with it, e.g. "upgrade to v8.5.2". Events without
	// a target get this one.
	Context, Namespace, Cluster, Action string
}

// Printer reports events. All methods may be called at any time from any
// goroutine, and on a nil Printer, which reports nothing.
type Printer struct {
	opts    Options
	queue   *queue
	drained chan struct{}
}

// format is one way to show events. It is used by one goroutine only.
type format interface {
	// event takes an event in, and may write it at once.
	event(event.Event)
	// tick writes what has become due. It is called after every batch of events
	// and after each interval that it returned.
	tick(now time.Time) time.Duration
	// close writes what is left.
	close(now time.Time)
}

// New starts a report. Close ends it. Until then nothing else should write to
// a terminal that has a live screen.
func New(o Options) *Printer {
	if o.Heartbeat <= 0 {
		o.Heartbeat = 30 * time.Second
	}
	if o.Flush <= 0 {
		o.Flush = 2 * time.Second
		if o.Mode == JSON {
			o.Flush = time.Minute
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if isFile(o.Out) || isFile(o.ErrOut) {
		surviveClosedPipes()
	}
	p := &Printer{opts: o, queue: newQueue(), drained: make(chan struct{})}
	go p.run(newFormat(o))
	return p
}

func newFormat(o Options) format {
	switch o.Mode {
	case JSON:
		return newLines(o)
	case TTY:
		return newScreen(o)
	default:
		return newPlain(o)
	}
}

// Report takes an event in. It never blocks. Events after one of type done are
// not reported: done is the last one by contract.
func (p *Printer) Report(e event.Event) {
	if p == nil {
		return
	}
	p.queue.push(p.stamp(e))
}

// stamp fills in what is the same for all events of a report, so that callers need not
// know it.
func (p *Printer) stamp(e event.Event) event.Event {
	if e.APIVersion == "" {
		e.APIVersion = event.Version
	}
	if e.Time.IsZero() {
		e.Time = p.opts.Now()
	}
	e.Time = e.Time.UTC()
	e.Since, e.Deadline = utc(e.Since), utc(e.Deadline)
	if e.Context == "" {
		e.Context = p.opts.Context
	}
	if e.Namespace == "" {
		e.Namespace = p.opts.Namespace
	}
	if e.Cluster == "" {
		e.Cluster = p.opts.Cluster
	}
	return e
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// Close writes out what is left, the summary included, and ends the report. It
// waits no longer than Options.Flush: a terminal that was stopped with Ctrl-S
// must not keep a finished command from exiting.
func (p *Printer) Close() {
	if p == nil {
		return
	}
	p.queue.close()
	timer := time.NewTimer(p.opts.Flush)
	defer timer.Stop()
	select {
	case <-p.drained:
	case <-timer.C:
	}
}

func (p *Printer) run(f format) {
	defer close(p.drained)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-p.queue.ready:
		case <-timer.C:
		}
		events, closed := p.queue.take()
		for _, e := range events {
			f.event(e)
		}
		if closed {
			f.close(p.opts.Now())
			return
		}
		// Two clocks may differ in what is due; the pause prevents a loop without an end.
		timer.Reset(max(f.tick(p.opts.Now()), time.Millisecond))
	}
}

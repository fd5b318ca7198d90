package report

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
)

// Stream writes the events of many clusters as they come, one JSON object per line. It may be used
// concurrently, and never waits for the reader: lines that are not read yet are kept in memory.
type Stream struct {
	out   sink
	ready chan struct{} // holds a token when there is something to write
	done  chan struct{}

	mu      sync.Mutex
	pending bytes.Buffer
	closed  bool
}

// NewStream begins to write to w. Close it.
func NewStream(w io.Writer) *Stream {
	s := &Stream{out: sink{w: w}, ready: make(chan struct{}, 1), done: make(chan struct{})}
	go s.write()
	return s
}

// Report implements reconcile.Reporter.
func (s *Stream) Report(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		encode(&s.pending, e)
		s.wake()
	}
}

// Close writes what is left and ends the stream.
func (s *Stream) Close() {
	s.mu.Lock()
	s.closed = true
	s.wake()
	s.mu.Unlock()
	<-s.done
}

func (s *Stream) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *Stream) write() {
	defer close(s.done)
	for range s.ready {
		s.mu.Lock()
		lines, last := bytes.Clone(s.pending.Bytes()), s.closed
		s.pending.Reset()
		s.mu.Unlock()
		s.out.write(lines)
		if last {
			return
		}
	}
}

// encode writes an event as a line, or nothing if it cannot be encoded.
func encode(b *bytes.Buffer, e event.Event) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false) // people read it too, and hints name <cluster>
	if enc.Encode(e) == nil {
		b.Write(harmless.JSON(line.Bytes()))
	}
}

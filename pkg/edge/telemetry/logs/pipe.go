package logs

import (
	"io"
	"slices"
	"sync"
	"time"
)

const (
	// kept is how many lines wait for a reader that is slow.
	kept = 4096
	// flush is how long the last lines may take.
	flush = 2 * time.Second
)

// pipe is a writer that never blocks. A terminal that was stopped, or a disk that hangs,
// must not stop the work on clusters.
type pipe struct {
	to      io.Writer
	dropped func(w io.Writer, lines int)
	lines   chan []byte
	drained chan struct{}

	mu     sync.Mutex
	lost   int
	closed bool
}

func newPipe(to io.Writer, dropped func(io.Writer, int)) *pipe {
	p := &pipe{to: to, dropped: dropped, lines: make(chan []byte, kept), drained: make(chan struct{})}
	go p.run()
	return p
}

// Write takes one line.
func (p *pipe) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return len(line), nil
	}
	select {
	case p.lines <- slices.Clone(line):
	default:
		p.lost++
	}
	return len(line), nil
}

func (p *pipe) run() {
	defer close(p.drained)
	for line := range p.lines {
		// There is nowhere to report an error.
		_, _ = p.to.Write(line)
		if n := p.takeLost(); n > 0 {
			p.dropped(p.to, n)
		}
	}
}

func (p *pipe) takeLost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.lost
	p.lost = 0
	return n
}

func (p *pipe) close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.lines)
	}
	p.mu.Unlock()
	timer := time.NewTimer(flush)
	defer timer.Stop()
	select {
	case <-p.drained:
	case <-timer.C:
	}
}

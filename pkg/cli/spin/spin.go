// Package spin shows that a short wait goes on, outside the engine, which reports for itself.
package spin

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/briandowns/spinner"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

const (
	// Most waits are over by then, and nothing flickers.
	soon = 300 * time.Millisecond
	// A log gets a line only for a wait that a reader would wonder about.
	late = 3 * time.Second

	frame = 100 * time.Millisecond
)

// Spin shows one wait, on stderr: as a spinner in a terminal, as one line elsewhere.
type Spin struct {
	mu    sync.Mutex
	text  string
	over  bool
	timer *time.Timer
	drawn *spinner.Spinner // nil: no terminal
	log   io.Writer
}

// On shows that a command waits for something, e.g. "reading cluster db/basic", until Stop.
func On(f *factory.Factory, text string) *Spin {
	s := &Spin{text: text, log: f.Streams.ErrOut, over: f.Quiet}
	after := late
	o := report.Detect(f.Streams.Out, f.Streams.ErrOut, "", f.Env)
	if file, ok := harmless.Under(f.Streams.ErrOut).(*os.File); ok && o.Mode == report.TTY {
		frames := spinner.CharSets[14]
		if o.ASCII {
			frames = spinner.CharSets[9]
		}
		// A process that is killed would leave a hidden cursor hidden.
		s.drawn, after = spinner.New(frames, frame, spinner.WithWriterFile(file), spinner.WithSuffix(" "+harmless.Line(text)), spinner.WithHiddenCursor(false)), soon
	}
	s.timer = time.AfterFunc(after, s.show)
	return s
}

func (s *Spin) show() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over: // it was stopped while the timer fired
	case s.drawn != nil:
		s.drawn.Start()
	default:
		fmt.Fprintln(s.log, s.text)
	}
}

// Say changes the text. A log keeps its one line.
func (s *Spin) Say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
	if s.drawn != nil {
		s.drawn.Lock()
		s.drawn.Suffix = " " + harmless.Line(text)
		s.drawn.Unlock()
	}
}

// Stop removes the spinner, so that the next line of output has a line of its own. It can be called
// more than once.
func (s *Spin) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.timer.Stop()
	if s.drawn != nil {
		s.drawn.Stop()
	}
}

package report

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
)

// screen keeps the last lines of a terminal up to date. They are the target, components, and what is done and waited
// for now. Lines about what is over scroll out above them and stay.
//
// It writes colours and moves the cursor, so it writes past the stream that cleans everything. What it shows is cleaned
// where it becomes a part of the view.
//
// The cursor stays visible: a process that is killed cannot show it again.
type screen struct {
	out   sink
	style style
	size  func() (width, height int)
	quiet time.Duration // after how long without an event the screen says so
	view  view

	above []string // lasting lines, not written yet
	live  []string // what the last lines of the terminal say now
	width int      // for which they were drawn
}

func newScreen(o Options) *screen {
	return &screen{
		out: sink{w: harmless.Raw(o.ErrOut)}, style: newStyle(o), size: o.Size, quiet: o.Heartbeat,
		view: newView(o),
	}
}

func (s *screen) event(e event.Event) {
	s.view.fold(e)
	switch e.Type {
	case event.Finished:
		s.addLines(said{tone: Good, text: Clean(e.Step) + took(seconds(e))})
	case event.Passed:
		if e.Seconds >= 1 && e.Outcome != event.OutcomeDropped {
			s.addLines(said{tone: Good, text: passed(e)})
		}
	case event.Failed:
		if f := s.view.failing(e); f.times == 1 {
			s.addLines(said{tone: Bad, text: f.phrase()})
		}
	case event.Notice:
		s.addLines(notice(e))
	case event.Done:
		for i, l := range s.view.summary() {
			if i == 0 {
				s.addLines(l)
				continue
			}
			for _, part := range s.parts(l) {
				s.above = append(s.above, "  "+s.style.paint(l.tone, part))
			}
		}
	}
}

// addLines adds lines that stay, with a sign before the first.
func (s *screen) addLines(l said) {
	sign := s.style.paint(l.tone, s.style.mark(l.tone))
	for _, part := range s.parts(l) {
		s.above = append(s.above, sign+" "+part)
		sign = " "
	}
}

// parts returns what is said in lines that leave room for a sign. Nothing of them is cut: they are
// the record.
func (s *screen) parts(l said) []string {
	width, _ := s.dimensions()
	if len(l.help) > 0 {
		return s.style.advise(l.text, l.help, width-2)
	}
	return wrap(s.style.legible(l.text), width-2, indent(l.text)+"  ")
}

func (s *screen) tick(now time.Time) time.Duration {
	width, height := s.dimensions()
	var live []string
	s.view.forget(now)
	if s.view.end == nil {
		live = s.compose(now, width, height-1)
	}
	s.draw(live, width)
	return frameEvery
}

func (s *screen) dimensions() (width, height int) {
	if s.size != nil {
		width, height = s.size()
	}
	if width <= 0 {
		width = 80
	}
	if height <= 0 {
		height = 24
	}
	return width, height
}

// close leaves the last screen as it is if the operation has not ended with an event of type done. That screen is
// the best report there is.
func (s *screen) close(now time.Time) {
	s.tick(now)
	if len(s.live) > 0 {
		s.out.write([]byte("\n"))
	}
}

// draw replaces the lines that the terminal shows, in one write that changes only what differs, so
// that nothing flickers.
func (s *screen) draw(live []string, width int) {
	var b bytes.Buffer
	patch := len(s.above) == 0 && len(live) == len(s.live) && width == s.width
	changed := !patch
	if n := s.rows(width); n > 0 {
		b.WriteByte('\r')
		if n > 1 {
			fmt.Fprintf(&b, "\x1b[%dA", n-1)
		}
	}
	for _, l := range s.above {
		b.WriteString(l + "\x1b[K\n")
	}
	for i, l := range live {
		switch n := rowsOf(l, width); {
		case patch && l == s.live[i]:
			b.WriteString(strings.Repeat("\n", n-1))
		case twwidth.Width(l) == n*width: // there is nothing behind it, and the cursor is still on its last sign
			b.WriteString(l)
			changed = true
		default:
			b.WriteString(l + "\x1b[K")
			changed = true
		}
		if i < len(live)-1 {
			b.WriteByte('\n')
		}
	}
	if !patch {
		b.WriteString("\x1b[J")
	}
	if changed {
		s.out.write(b.Bytes())
	}
	s.above, s.live, s.width = nil, live, width
}

// rows is how many rows of the terminal the live lines take. A terminal that
// became narrower has broken them.
func (s *screen) rows(width int) int {
	n := 0
	for _, l := range s.live {
		n += rowsOf(l, width)
	}
	return n
}

// rowsOf is how many rows a line takes: a terminal breaks one that is too long.
func rowsOf(line string, width int) int { return max(1, (twwidth.Width(line)+width-1)/width) }

package backup

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// screen shows the progress of a Job on stderr: in a terminal as one line that changes, elsewhere as a line for each
// change.
type screen struct {
	f        *factory.Factory
	terminal bool
	spin     *spin.Spin
	last     string
	said     map[string]bool
}

func open(f *factory.Factory) *screen {
	return &screen{f: f, terminal: report.Terminal(f.Streams.ErrOut), said: map[string]bool{}}
}

// now shows what is so now.
func (s *screen) now(text string) {
	if text == s.last {
		return
	}
	s.last = text
	switch {
	case !s.terminal:
		fmt.Fprintln(s.f.Streams.ErrOut, text)
	case s.spin == nil:
		s.spin = spin.On(s.f, text)
	default:
		s.spin.Say(text)
	}
}

// once prints a line that stays, the first time that it is given.
func (s *screen) once(text string) {
	if s.said[text] {
		return
	}
	s.said[text] = true
	last := s.last
	s.close()
	fmt.Fprintln(s.f.Streams.ErrOut, text)
	if s.terminal && last != "" {
		s.now(last)
	}
}

func (s *screen) close() {
	if s.spin != nil {
		s.spin.Stop()
		s.spin, s.last = nil, ""
	}
}

// progress shows how far BR or rclone is, or what its pod waits for.
func (s *screen) progress(v edge.View, waits string) {
	if id := v.Log.SafePoint; id != "" {
		s.once(fmt.Sprintf("it has the data of %s; PD keeps it from garbage collection by service safepoint %s", v.Log.Time().Format(time.RFC3339), id))
	}
	line := v.Log.Line()
	if v.Log.Progress.Percent == "" && !s.terminal {
		line = "" // a log would get a line for each range
	}
	s.now(cmp.Or(line, waits, backup.ProgramOf(v.Job)+" runs"))
}

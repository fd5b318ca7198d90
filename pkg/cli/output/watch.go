package output

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// Watch is the flag -w of a command that reads: it goes on to look, and writes nothing.
type Watch bool

const (
	// Changes come in bursts, and each look takes requests.
	pause = time.Second
	// Kubernetes does not report what changes in members.
	every = 10 * time.Second
)

// Bind adds the flag to a command.
func (w *Watch) Bind(cmd *cobra.Command) {
	cmd.Flags().BoolVarP((*bool)(w), "watch", "w", false, "After showing it, watch, and show it again whenever it has changed, until interrupted. Nothing is written.")
}

// age matches durations.
var age = regexp.MustCompile(`\b(\d+[ydhms])+\b`)

// lasting returns what says more of a text than that time goes by: its words without durations. The
// space between the columns of a table changes with the durations in them.
func lasting(text string) string {
	words := strings.Fields(age.ReplaceAllString(text, ""))
	if len(words) > 0 && words[0] == "---" { // between documents
		words = words[1:]
	}
	return strings.Join(words, " ")
}

// Show shows something once, or with the flag again whenever what it shows has changed, until ctx
// ends. Changes is called with the flag only.
func (w *Watch) Show(ctx context.Context, out io.Writer, changes func(context.Context) (<-chan struct{}, error), show func(io.Writer) error) error {
	if !*w {
		return show(out)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changed, err := changes(ctx)
	if err != nil {
		return err
	}
	for s := (Screen{Out: out}); ; {
		if err := s.Show(show); err != nil {
			return err
		}
		if err := Pause(ctx, changed); err != nil {
			return err
		}
	}
}

// Screen shows something again and again, and writes only what says something new.
type Screen struct {
	Out  io.Writer
	last string
}

// Show writes what show prints. It is not written where only time has gone by since the text before.
func (s *Screen) Show(show func(io.Writer) error) error {
	var text bytes.Buffer
	err := show(report.Paper{Writer: &text, Columns: report.Width(s.Out)})
	now := lasting(text.String())
	if err == nil && now == s.last {
		return nil
	}
	s.last = now
	_, failed := s.Out.Write(text.Bytes())
	return cmp.Or(err, failed)
}

// Pause waits until something has changed, and for some seconds at most.
func Pause(ctx context.Context, changed <-chan struct{}) error {
	if !sleep(ctx, nil, pause) || !sleep(ctx, changed, every-pause) {
		return context.Cause(ctx)
	}
	return nil
}

// sleep waits for a change, or so long. It reports false if ctx ends first.
func sleep(ctx context.Context, changed <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}

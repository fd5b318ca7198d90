package report

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/term"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
)

// terminalOf reports whether a stream is a terminal that understands cursor
// movement, and how to learn its size.
func terminalOf(w io.Writer) (size func() (width, height int), ok bool) {
	f, isFile := harmless.Under(w).(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) || !enableCursor(f) {
		return nil, false
	}
	return func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0, 0
		}
		return width, height
	}, true
}

// Terminal reports whether a stream is a terminal.
func Terminal(w io.Writer) bool {
	_, ok := terminalOf(w)
	return ok
}

// surviveClosedPipes keeps "kubectl tidb upgrade | head" from killing the upgrade. Without a handler the runtime
// ends a process that writes to a closed stdout or stderr. Child processes would inherit an ignored signal, so it is
// not ignored but handled.
var surviveClosedPipes = sync.OnceFunc(func() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
})

func isFile(w io.Writer) bool {
	_, ok := harmless.Under(w).(*os.File)
	return ok
}

// sink is a writer that writes nothing after its first error, since its reader has closed the
// stream.
type sink struct {
	w    io.Writer
	dead bool
}

func (s *sink) write(b []byte) {
	if s.dead || s.w == nil || len(b) == 0 {
		return
	}
	if _, err := s.w.Write(b); err != nil {
		s.dead = true
	}
}

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// sameSignal is how long after the first signal another signal counts as the same. timeout(1) and some terminals
// send a signal to a process and to its group.
const sameSignal = time.Second

// interruptible ends the context at the first signal, so that the command stops at a safe point. At the second
// signal it ends the process. Closing the terminal interrupts as well, unless the shell ignores that signal: under
// nohup a command continues.
func interruptible(errOut io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		cancel(exit.ErrInterrupted)
		if second(signals) {
			fmt.Fprintln(errOut, "stopped at once: what was temporary stays recorded in the cluster; "+
				"run the same command again to go on and to clean it up")
			os.Exit(int(exit.Interrupted)) //nolint:forbidigo // the user insists
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// second waits for a second signal, one that does not belong to the first. It
// reports false when there are no more.
func second(signals <-chan os.Signal) bool {
	first := time.Now()
	for range signals {
		if time.Since(first) >= sameSignal {
			return true
		}
	}
	return false
}

// Package resident keeps small what a process has in memory that waits for hours.
package resident

import (
	"os"
	"runtime/debug"
	"time"
)

const (
	// atStart is by how many percent the heap of a process may grow at its start before the garbage collector runs. Most
	// commands end within a second, with less garbage than the program's file has bytes. To collect it took a fifth of
	// their processor time.
	atStart = 200
	// settled is how much later free memory is returned. By then connections that are not used any more are closed.
	settled = 10 * time.Second
)

// Starts has the garbage collector run less often than usual. A GOGC that the user sets is kept.
func Starts() { growth(atStart) }

// Waits has the garbage collector run more often than at the start, from after on. The heap may then grow by percent
// of what is in use. Free memory is returned to the operating system a moment later. Neither happens once over was
// called. A GOGC that the user sets is kept.
func Waits(percent int, after time.Duration) (over func()) {
	more := time.AfterFunc(after, func() { growth(percent) })
	free := time.AfterFunc(after+settled, debug.FreeOSMemory)
	return func() {
		more.Stop()
		free.Stop()
	}
}

func growth(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

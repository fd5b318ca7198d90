// Package resident keeps small what a process has in memory that waits for hours.
package resident

import (
	"os"
	"runtime/debug"
	"time"
)

// settled is when a process has done what it does only at its start: it has read its flags, asked everything for the
// first time and opened its connections.
const settled = 10 * time.Second

// Waits has the garbage collector run more often than usual, as the heap may grow by percent of what is in use and not
// by all of it, and returns free memory to the operating system when the process has settled. over has that not happen
// any more. A GOGC that the user sets is kept.
func Waits(percent int) (over func()) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	later := time.AfterFunc(settled, debug.FreeOSMemory)
	return func() { later.Stop() }
}

// Package resident keeps small what a process has in memory that waits for hours.
package resident

import (
	"os"
	"runtime/debug"
	"time"
)

// settled is when a process has done what is only done at the start. By then the process has read flags, asked
// everything for the first time and opened connections.
const settled = 10 * time.Second

// Waits has the garbage collector run more often than usual. The heap may then grow by percent of what is in use and
// not by all of it. Free memory is returned to the operating system when the process has settled. over has the
// return of memory not happen any more. A GOGC that the user sets is kept.
func Waits(percent int) (over func()) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	later := time.AfterFunc(settled, debug.FreeOSMemory)
	return func() { later.Stop() }
}

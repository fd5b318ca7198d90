package resident

import (
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// growing returns by how many percent the heap may grow now.
func growing() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

// TestWaits: the heap may grow much at the start, and little in a process that waits, unless the user has set it.
func TestWaits(t *testing.T) {
	was := growing()
	defer debug.SetGCPercent(was)
	for _, c := range []struct {
		set                     string
		starts, waits, released int
	}{{"", atStart, 25, atStart}, {"70", was, was, was}} {
		t.Setenv("GOGC", c.set)
		synctest.Test(t, func(t *testing.T) {
			debug.SetGCPercent(was)
			Starts()
			over := Waits(25, time.Minute)
			time.Sleep(59 * time.Second)
			if got := growing(); got != c.starts {
				t.Errorf("GOGC=%q: at the start %d", c.set, got)
			}
			time.Sleep(2 * time.Second)
			if got := growing(); got != c.waits {
				t.Errorf("GOGC=%q: in a wait %d", c.set, got)
			}
			over()
			Starts()
			Waits(25, time.Minute)()
			time.Sleep(time.Hour)
			if got := growing(); got != c.released {
				t.Errorf("GOGC=%q: after the end %d", c.set, got)
			}
		})
	}
}

package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

// largestHeap is many times what a store of the tests needs. Without a limit, one store that grows takes the memory of
// the whole node, and every other test fails with it.
const largestHeap = 2 << 30

// limitMemory ends the process when its heap is too large, and writes what holds the memory: after the pod is deleted
// nobody can ask the process anymore.
func limitMemory() {
	waitForHeap(largestHeap, time.Tick(time.Second))
	explainHeap(os.Stderr)
	os.Exit(1)
}

// waitForHeap returns when the heap has more than limit bytes at a tick.
func waitForHeap(limit uint64, ticks <-chan time.Time) {
	for range ticks {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if stats.HeapAlloc > limit {
			return
		}
	}
}

// explainHeap writes what allocated the memory that is in use, and where each goroutine is.
func explainHeap(out io.Writer) {
	fmt.Fprintln(out, "the store uses too much memory and ends; this is what uses it:")
	for _, name := range []string{"heap", "goroutine"} {
		if err := pprof.Lookup(name).WriteTo(out, 1); err != nil {
			fmt.Fprintf(out, "write the profile %q: %v\n", name, err)
		}
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestALargeHeapIsExplained(t *testing.T) {
	ticks := make(chan time.Time, 2)
	ticks <- time.Now()
	waitForHeap(1, ticks)
	ticks <- time.Now()
	close(ticks)
	waitForHeap(1<<50, ticks) // Returns only at the end of the ticks.
	if _, left := <-ticks; left {
		t.Error("waitForHeap returned although the heap is below the limit")
	}
	var out bytes.Buffer
	explainHeap(&out)
	for _, want := range []string{"heap profile:", "goroutine profile:", "TestALargeHeapIsExplained"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the explanation lacks %q:\n%s", want, out.String())
		}
	}
}

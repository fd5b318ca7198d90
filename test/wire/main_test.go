package wire

import (
	"runtime"
	"testing"
)

// TestMain takes one processor, so that goroutines run in the same order each time, as far as possible.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	m.Run()
}

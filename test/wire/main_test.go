//go:debug randseednop=0
package wire

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// memory is how much a process takes before garbage is collected. Little of what a run allocates stays in use.
const memory = 256 << 20

// chosenTests are the tests that are done where none is named; "" for all.
var chosenTests string

// TestMain takes one processor, so that goroutines run in the same order each time, as far as possible. It also takes
// away what client-go keeps for a whole process about errors: a pause that ends at a time of another clock.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	_ = os.Setenv("GOGC", "off") // commands set it to a quarter, unless the user has set it
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memory)
	utilruntime.ErrorHandlers = nil
	klog.SetLogger(logr.Discard())
	flag.Parse()
	if chosen := flag.Lookup("test.run"); chosenTests != "" && chosen.Value.String() == "" {
		_ = chosen.Value.Set(chosenTests)
	}
	m.Run()
}

package wire

import (
	"runtime"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// TestMain takes one processor, so that goroutines run in the same order each time, as far as possible. It also takes away
// what client-go keeps for a whole process about errors: a pause that ends at a time of another clock.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	utilruntime.ErrorHandlers = nil
	klog.SetLogger(logr.Discard())
	m.Run()
}

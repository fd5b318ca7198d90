//go:build race

package sim

import (
	"flag"
	"os"
	"testing"
)

// chosen are the tests of which runs are at work at the same time, or whose engines are.
const chosen = "^(TestSeeds|TestSlotSeeds|TestBatchSeeds|TestDaemons|TestCommandBesideDaemons|TestTwoEngines|TestRandomRunsSleep)$"

// TestMain does only these with the race detector, unless others are named with -run. A run takes some eight times as long,
// so that fewer runs are done, too. "make test" does all of them without the race detector (make sim sim-scenarios).
func TestMain(m *testing.M) {
	flag.Parse()
	if run := flag.Lookup("test.run"); run.Value.String() == "" {
		_ = run.Value.Set(chosen)
	}
	*seeds, some = 60, 200
	os.Exit(m.Run())
}

//go:build race

package wire

// With the race detector a run takes some five times as long. So only the tests are done in which most goroutines work at
// the same time, unless others are named with -run, and fewer runs. "make test" does all of them without the race
// detector (make wire).
func init() {
	chosenTests = "^(TestDaemons|TestDDLPauseOfAnother|TestFleet|TestReplaceKilled|TestSeeds|TestStandStill)$"
	*seeds, repeated = 2, repeated[:1]
}

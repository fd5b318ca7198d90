//go:build race

package sim

// With the race detector a run takes some eight times as long, so that fewer runs are done. "make test" does all of them
// without the race detector (make sim).
func init() { *seeds, some = 60, 200 }

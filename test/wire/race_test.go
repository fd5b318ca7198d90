//go:build race

package wire

// With the race detector a run takes some five times as long, so that fewer runs are done with it. "make test" does
// more of them without the race detector, as "make sim-wire" does.
func init() {
	*seeds, repeated = 2, repeated[:1]
}

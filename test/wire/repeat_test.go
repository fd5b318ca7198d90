package wire

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
)

var repeats = flag.Int("repeats", 2, "how often TestRepeat does the same run")

// repeated are the seeds whose run is done again.
var repeated = []uint64{3, 10, 15}

// TestRepeat: a seed gives the same run each time: the same requests with the same bodies, the same answers at the same
// moments, and the same output. More of them: go test ./test/wire -run TestRepeat -repeats 100
//
// Not the same are which of several equal requests is answered first, at the same moment, and how many connections are
// made: both depend on the order in which Go's scheduler runs goroutines, and nothing that a run does depends on them.
// What client-go draws for several pauses that begin at the same moment can be given to them in another order.
func TestRepeat(t *testing.T) {
	for _, seed := range repeated {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			first := recordOf(t, seed)
			for i := range *repeats - 1 {
				if again := recordOf(t, seed); !same(t, i+2, first, again) {
					return
				}
			}
		})
	}
}

// recordOf does the run of a seed, with all faults on the way.
func recordOf(t *testing.T, seed uint64) []string {
	o, all := drawn(seed)
	r := &record{}
	Run(t, o, func(t *testing.T, w *World) {
		w.record = r
		defer func() { r.lines = append(r.lines, strings.Split(strings.Join(w.printed, "\n"), "\n")...) }()
		play(t, w, all, Faults{Refused: .02, Lost: .01, Slow: .02, Behind: .05, Asleep: .03})
	})
	return r.lines
}

func same(t *testing.T, run int, first, again []string) bool {
	t.Helper()
	if slices.Equal(first, again) {
		return true
	}
	for i := range max(len(first), len(again)) {
		if i >= len(first) || i >= len(again) || first[i] != again[i] {
			t.Errorf("run %d differs from the first one at line %d of %d:\n%s\n%s", run, i, len(first), around(first, i), around(again, i))
			return false
		}
	}
	return true
}

func around(lines []string, i int) (text string) {
	for j := max(0, i-3); j < min(len(lines), i+3); j++ {
		text += fmt.Sprintf("%d %.200q\n", j, lines[j])
	}
	return text
}

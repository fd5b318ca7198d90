package sim

import (
	"testing"
	"time"
)

// What PD says of those who had to do without it.

// PD has been away for long, and a store has crashed for want of it again and again. When
// PD is back, it has not heard of the store for long, and the store waits for its next
// start. It is not given up: it serves within minutes. (seed 1795365302242)
func TestStoreThatCrashesForWantOfPD(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1, Failover: true})
	w.lose(w.pods[pd][0], 2700)
	w.lose(w.pods[pd][1], 2700)
	for range 9 {
		w.halt(w.pods[tikv][3], 290)
		w.Pass(300)
	}
	w.halt(w.pods[tikv][3], 290)
	_, _ = w.Drive(20 * time.Minute)
	neverTold(t, w, "give up basic-tikv-3")
	fine(t, w)
}

package main

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

func TestExplained(t *testing.T) {
	for _, c := range []struct {
		at, took float64
		want     string
	}{
		{-1, 0.9, "a write of 0.90 s began before the first step"},
		{-1, 1.1, "a write of 1.10 s began before the first step; 1.00 s later: move PD leader from pd-1 to pd-0"},
		{0.05, 1.5, "a write of 1.50 s began 0.05 s after: move PD leader from pd-1 to pd-0"},
		{2.9, 2, "a write of 2.00 s began 2.90 s after: move PD leader from pd-1 to pd-0; 0.10 s later: restart pd-1"},
		{3, 2, "a write of 2.00 s began 3.00 s after: move PD leader from pd-1 to pd-0; 0.00 s later: restart pd-1"},
	} {
		stall := workload.Stall{At: at(c.at), Took: time.Duration(c.took * float64(time.Second))}
		if got := explained(upgrade(), stall); got != c.want {
			t.Errorf("%s, want\n%s", got, c.want)
		}
	}
}

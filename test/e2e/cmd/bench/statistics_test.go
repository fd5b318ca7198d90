package main

import (
	"slices"
	"testing"
	"time"
)

const s = time.Second

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		times  times
		median time.Duration
		cells  []string
		of3    string
	}{
		{nil, 0, []string{"", "", ""}, "no value"},
		{times{4 * s}, 4 * s, []string{"4.0 s", "4.0 s", "4.0 s"}, "4.0 / 4.0 / 4.0 s (1 of 3 runs)"},
		{times{4 * s, 2 * s}, 4 * s, []string{"2.0 s", "4.0 s", "4.0 s"}, "2.0 / 4.0 / 4.0 s (2 of 3 runs)"},
		{times{9 * s, 2 * s, 4 * s}, 4 * s, []string{"2.0 s", "4.0 s", "9.0 s"}, "2.0 / 4.0 / 9.0 s"},
		{times{9 * s, 2 * s, 4 * s, 3 * s}, 4 * s, []string{"2.0 s", "4.0 s", "9.0 s"}, "2.0 / 4.0 / 9.0 s"},
	} {
		before := slices.Clone(c.times)
		if got := c.times.median(); got != c.median {
			t.Errorf("%v: median %v, want %v", c.times, got, c.median)
		}
		if got := c.times.cells(); !slices.Equal(got, c.cells) {
			t.Errorf("%v: %q, want %q", c.times, got, c.cells)
		}
		if got := c.times.of(3); got != c.of3 {
			t.Errorf("%v: %q, want %q", c.times, got, c.of3)
		}
		if !slices.Equal(c.times, before) {
			t.Errorf("%v: the order of the runs was %v", c.times, before)
		}
	}
}

func TestMedianOfRuns(t *testing.T) {
	runs := []measured{{wall: 9 * s}, {wall: 2 * s}, {wall: 4 * s}}
	if got := medianOf(runs, wall); got.wall != 4*s {
		t.Errorf("the run of %v, want that of 4 s", got.wall)
	}
	if got := medianOf(nil, wall); got.wall != 0 {
		t.Errorf("no run has %v", got.wall)
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		took, floor time.Duration
		want        string
	}{{12 * s, 8 * s, "1.50"}, {12 * s, 0, ""}, {0, 8 * s, ""}} {
		if got := ratio(c.took, c.floor); got != c.want {
			t.Errorf("%v to %v: %q, want %q", c.took, c.floor, got, c.want)
		}
	}
}

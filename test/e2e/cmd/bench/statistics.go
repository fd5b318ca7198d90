package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// times are what was measured of one thing, one for each run.
type times []time.Duration

// median returns the middle one, of two the longer: it is one that was measured, so that what is
// said about that run adds up to it. It is 0 for none.
func (t times) median() time.Duration {
	return medianOf(t, func(d time.Duration) time.Duration { return d })
}

// medianOf returns the run in the middle, of two the longer; the zero value for none.
func medianOf[Run any](runs []Run, took func(Run) time.Duration) Run {
	if len(runs) == 0 {
		var none Run
		return none
	}
	sorted := slices.SortedStableFunc(slices.Values(runs), func(a, b Run) int { return cmp.Compare(took(a), took(b)) })
	return sorted[len(sorted)/2]
}

// cells are the least, the median and the most for a table.
func (t times) cells() []string {
	if len(t) == 0 {
		return []string{"", "", ""}
	}
	return []string{seconds(slices.Min(t)), seconds(t.median()), seconds(slices.Max(t))}
}

// of says the same in one cell, with the number of runs where some of those that were to be are missing.
func (t times) of(runs int) string {
	if len(t) == 0 {
		return "no value"
	}
	text := fmt.Sprintf("%.1f / %.1f / %.1f s", slices.Min(t).Seconds(), t.median().Seconds(), slices.Max(t).Seconds())
	if len(t) < runs {
		text += fmt.Sprintf(" (%d of %d runs)", len(t), runs)
	}
	return text
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// ratio returns how many times as long as a floor something took, "" where there is no floor.
func ratio(took, floor time.Duration) string {
	if took == 0 || floor == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", took.Seconds()/floor.Seconds())
}

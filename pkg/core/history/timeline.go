package history

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Track is what happened to one member, to a component, or to the cluster as a whole.
type Track struct {
	Component, Member string
	Bars              []Bar
	Lanes             int // how many bars there are at the same time, at most
}

// Bar is a step or a wait in a track. Exactly one of them is set.
type Bar struct {
	Step *Step
	Wait *Wait
	// From and To are its place in the run, from 0 to 1.
	From, To float64
	// Lane is the first one, from 0, in which no other bar is at this time.
	Lane int
}

// Tracks returns the tracks of a run: the cluster's, and each component's before those of its
// members.
func (r Run) Tracks() []Track {
	var tracks []Track
	at := map[[2]string]int{}
	add := func(component, member string, b Bar) {
		key := [2]string{component, member}
		i, known := at[key]
		if !known {
			i = len(tracks)
			at[key] = i
			tracks = append(tracks, Track{Component: component, Member: member})
		}
		tracks[i].Bars = append(tracks[i].Bars, b)
	}
	for i := range r.Waits {
		w := &r.Waits[i]
		add(w.Component, w.Member, Bar{Wait: w, From: r.place(w.Began), To: r.place(w.Ended)})
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		add(s.Component, s.Member, Bar{Step: s, From: r.place(s.Began), To: r.place(s.Ended)})
	}
	slices.SortStableFunc(tracks, func(a, b Track) int {
		return cmp.Or(compareComponents(a.Component, b.Component), compareNames(a.Member, b.Member))
	})
	for i := range tracks {
		tracks[i].settle()
	}
	return tracks
}

// place returns where a time is in the run, from 0 to 1. Waits may begin before the run.
func (r Run) place(t time.Time) float64 {
	whole := r.Took()
	if whole <= 0 {
		return 0
	}
	return min(max(float64(t.Sub(r.Began))/float64(whole), 0), 1)
}

// settle gives each bar a lane.
func (t *Track) settle() {
	slices.SortStableFunc(t.Bars, func(a, b Bar) int { return cmp.Compare(a.From, b.From) })
	var until []float64 // of each lane, where its last bar ends
	for i := range t.Bars {
		b := &t.Bars[i]
		b.Lane = slices.IndexFunc(until, func(end float64) bool { return end <= b.From })
		if b.Lane < 0 {
			b.Lane = len(until)
			until = append(until, 0)
		}
		until[b.Lane] = b.To
	}
	t.Lanes = len(until)
}

func compareComponents(a, b string) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

// compareNames orders members by their numbers, because the rest of their names is the same.
func compareNames(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }

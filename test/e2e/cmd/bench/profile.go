package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// noted is the time from which on a step, or a time in which nothing was waited for, is in a profile.
const noted = 200 * time.Millisecond

// kinds is how many kinds of gates a profile has.
const kinds = 8

// part is one line of a profile.
type part struct {
	what string
	took time.Duration
}

// profile says where the seconds of a run went.
type profile struct {
	gates []part // by kind, the largest first
	steps []part // that took long, in their order
	idle  []part // with no gate closed and no step under way for long, in their order
	// nothing is all of that time, with the start of the process and its end.
	nothing time.Duration
}

func profileOf(m measured) profile {
	p := profile{gates: byKind(waits(m.events))}
	for _, s := range steps(m.events) {
		if s.to.Sub(s.from) > noted {
			p.steps = append(p.steps, part{s.event.Step, s.to.Sub(s.from)})
		}
	}
	p.idle, p.nothing = idle(m)
	return p
}

// byKind adds up the waits of all members of a component for one reason. Two members that are
// awaited at once count once.
func byKind(all []waited) []part {
	type kind struct{ component, reason string }
	spans := map[kind][]span{}
	gates := map[kind]map[event.Gate]bool{}
	var order []kind
	for _, w := range all {
		k := kind{w.gate.Component, w.gate.Reason}
		if gates[k] == nil {
			gates[k] = map[event.Gate]bool{}
			order = append(order, k)
		}
		spans[k] = append(spans[k], w.span)
		gates[k][w.gate] = true
	}
	var parts []part
	for _, k := range order {
		what := fmt.Sprintf("%s %s ×%d", cmp.Or(k.component, "cluster"), k.reason, len(gates[k]))
		parts = append(parts, part{what, union(spans[k])})
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.took, a.took) })
	return parts[:min(len(parts), kinds)]
}

// idle returns the times in which no gate was closed and no step was under way: reading and
// deciding, mostly.
func idle(m measured) (long []part, sum time.Duration) {
	var busy []span
	for _, w := range waits(m.events) {
		busy = append(busy, w.span)
	}
	for _, s := range steps(m.events) {
		busy = append(busy, s.span)
	}
	sum = m.wall - union(busy)
	if len(m.events) == 0 {
		return nil, sum
	}
	first, last := m.events[0].Time, m.events[len(m.events)-1].Time
	if around := m.wall - last.Sub(first); around > noted {
		long = append(long, part{"before the first event and after the last one", around})
	}
	end := first
	for _, s := range byBegin(append(busy, span{last, last})) {
		if gap := s.from.Sub(end); gap > noted {
			long = append(long, part{"after: " + lastStep(m.events, end).Step, gap})
		}
		if s.to.After(end) {
			end = s.to
		}
	}
	return long, sum
}

// lastStep returns the event by which the last step before a moment began.
func lastStep(events []event.Event, at time.Time) event.Event {
	last := event.Event{Step: "the begin, no step yet", Time: at}
	for _, e := range events {
		if e.Type == event.Started && e.Time.Before(at) {
			last = e
		}
	}
	return last
}

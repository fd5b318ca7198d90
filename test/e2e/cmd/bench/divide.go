package main

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// measured is one run of an operation. A second driver has no events, and no processor time.
type measured struct {
	wall      time.Duration
	events    []event.Event
	processor time.Duration // of the plugin's process
}

// division is what the wall of an operation went into. What is neither waited for Kubernetes nor
// for the database is our own: starting up, reading, deciding, writing.
type division struct{ pods, database, own time.Duration }

// span is a time in which something was waited for, or a step was under way.
type span struct{ from, to time.Time }

// divide returns what a run waited for. Where pods and the database were awaited at once, the time
// counts for the pods.
func divide(m measured) division {
	var pods, database []span
	for _, w := range waits(m.events) {
		if w.source == event.FromKubernetes {
			pods = append(pods, w.span)
		} else {
			database = append(database, w.span)
		}
	}
	for _, s := range steps(m.events) {
		if inDatabase[s.event.Action] {
			database = append(database, s.span)
		}
	}
	d := division{pods: union(pods)}
	d.database = union(append(pods, database...)) - d.pods
	d.own = m.wall - d.pods - d.database
	return d
}

// inDatabase has the actions that are a request to PD, which returns when PD has done it, and not
// one to the API server. Their names are a contract, as those of reasons are.
var inDatabase = map[string]bool{
	"MoveLeader":   true,
	"RemoveMember": true,
	"EvictLeaders": true,
	"AllowLeaders": true,
	"RemoveStore":  true,
	"RestoreStore": true,
}

// queued reports whether a gate waits for other work of the same run: all of the run before it would
// count as waiting.
func queued(reason string) bool { return reason == "RolloutQueued" || reason == "SuspendQueued" }

// waited is a time in which a gate was closed and what it waits for was read from one source. A gate
// that waits for the pod first and then for the database has two.
type waited struct {
	span
	gate   event.Gate
	source string
}

// waits returns what a run waited for, in the order in which the waits ended, without what was queued.
func waits(events []event.Event) (all []waited) {
	var open []waited
	end := func(i int, at time.Time) {
		open[i].to = at
		all = append(all, open[i])
		open = slices.Delete(open, i, i+1)
	}
	for _, e := range events {
		if queued(e.Reason) {
			continue
		}
		i := slices.IndexFunc(open, func(w waited) bool { return w.gate == e.Gate() })
		switch e.Type {
		case event.Waiting, event.Blocked:
			if i >= 0 && open[i].source == e.Source {
				continue
			}
			if i >= 0 {
				end(i, e.Time)
			}
			open = append(open, waited{span{from: e.Time}, e.Gate(), e.Source})
		case event.Passed:
			if i >= 0 {
				end(i, e.Time)
			}
		}
	}
	for len(open) > 0 { // the last event says "done"
		end(0, events[len(events)-1].Time)
	}
	return all
}

// step is an attempt at a step, with the event that ended it.
type step struct {
	span
	event event.Event
}

// steps returns the steps of a run, in the order in which they ended.
func steps(events []event.Event) (all []step) {
	for _, e := range events {
		if e.Type == event.Finished || e.Type == event.Failed {
			took := time.Duration(e.Seconds * float64(time.Second))
			all = append(all, step{span{e.Time.Add(-took), e.Time}, e})
		}
	}
	return all
}

// union is how long at least one of the spans lasted.
func union(spans []span) time.Duration {
	var sum time.Duration
	var end time.Time
	for _, s := range byBegin(spans) {
		if s.from.Before(end) {
			s.from = end
		}
		if s.to.After(s.from) {
			sum += s.to.Sub(s.from)
			end = s.to
		}
	}
	return sum
}

func byBegin(spans []span) []span {
	return slices.SortedStableFunc(slices.Values(spans), func(a, b span) int { return a.from.Compare(b.from) })
}

package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// row is one measured operation. What is neither waited for Kubernetes nor for
// the database is our own: starting up, reading, deciding, writing.
type row struct {
	operation
	wall, pods, database, own time.Duration
}

// span is a time in which something was waited for.
type span struct{ from, to time.Time }

// divide returns, from the events, what an operation waited for. Where pods and the
// database were awaited at once, the time counts for the pods.
func divide(op operation, events []event.Event, wall time.Duration) row {
	var pods, database []span
	for _, e := range events {
		to := e.Time
		from := to.Add(-time.Duration(e.Seconds * float64(time.Second)))
		switch {
		case e.Type == event.Passed && e.Source == event.FromKubernetes:
			pods = append(pods, span{from, to})
		case e.Type == event.Passed:
			database = append(database, span{from, to})
		case e.Type == event.Finished && inDatabase(e.Step):
			database = append(database, span{from, to})
		}
	}
	r := row{operation: op, wall: wall, pods: union(pods)}
	r.database = union(append(pods, database...)) - r.pods
	r.own = wall - r.pods - r.database
	return r
}

// inDatabase has the steps that are a request to PD, which returns when PD has done it,
// from those that are one to the API server.
func inDatabase(step string) bool {
	for _, verb := range []string{"move PD leader", "evict region", "allow region", "remove PD member", "take store", "bring store"} {
		if len(step) >= len(verb) && step[:len(verb)] == verb {
			return true
		}
	}
	return false
}

// union is how long at least one of the spans lasted.
func union(spans []span) time.Duration {
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var sum time.Duration
	var end time.Time
	for _, s := range spans {
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

// during names the last step that was taken before a moment.
func during(events []event.Event, at time.Time) string {
	last := event.Event{Step: "the first step", Time: at}
	for _, e := range events {
		if e.Type == event.Started && e.Time.Before(at) {
			last = e
		}
	}
	return fmt.Sprintf("%v after: %s", at.Sub(last.Time).Round(10*time.Millisecond), last.Step)
}

func table(out io.Writer, rows []row) {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| operation\t| wall\t| bar\t| waiting for pods\t| waiting for PD and TiKV\t| our own\t|")
	fmt.Fprintln(w, "|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, r := range rows {
		fmt.Fprintf(w, "| %s\t| %.1f s\t| %.0f s\t| %.1f s\t| %.1f s\t| %.1f s (%.0f %%)\t|\n",
			r.name, r.wall.Seconds(), r.bar.Seconds(), r.pods.Seconds(), r.database.Seconds(),
			r.own.Seconds(), 100*r.own.Seconds()/r.wall.Seconds())
	}
	w.Flush()
}

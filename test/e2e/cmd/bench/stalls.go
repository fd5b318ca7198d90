package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

// client is what a client saw that wrote during one run of all operations after the first.
type client struct {
	run     int // from 1
	account workload.Account
	events  []event.Event
	lost    error // rows that were written and are not there
}

// explained says after which step a write that took long began, and which steps began during it: a
// stall that begins with a move of PD's leader is one that a bare move has as well.
func explained(events []event.Event, s workload.Stall) string {
	var text strings.Builder
	fmt.Fprintf(&text, "a write of %s began", exact(s.Took))
	if last := lastStep(events, s.At); last.Time.Before(s.At) {
		fmt.Fprintf(&text, " %s after: %s", exact(s.At.Sub(last.Time)), last.Step)
	} else {
		text.WriteString(" before the first step")
	}
	for _, e := range events {
		if e.Type == event.Started && !e.Time.Before(s.At) && e.Time.Before(s.At.Add(s.Took)) {
			fmt.Fprintf(&text, "; %s later: %s", exact(e.Time.Sub(s.At)), e.Step)
		}
	}
	return text.String()
}

func exact(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// bareMove is a move of PD's leader without the plugin, with what a client saw of it.
type bareMove struct {
	from, to string
	took     time.Duration
	account  workload.Account
}

func (m bareMove) String() string {
	return fmt.Sprintf("from %s to %s in %s: longest write %s, %d failed", m.from, m.to, exact(m.took), exact(m.account.Longest), len(m.account.Failed))
}

// longest are the longest stalls of moves.
func longest(moves []bareMove) (all times) {
	for _, m := range moves {
		all = append(all, m.account.Longest)
	}
	return all
}

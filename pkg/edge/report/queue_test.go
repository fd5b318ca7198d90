package report

import (
	"fmt"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

func wait(member, observed string) event.Event {
	return event.Event{Type: event.Waiting, Member: member, Reason: "MemberServing", Message: member + " not serving: " + observed, Observed: observed}
}

func summary(events []event.Event) string {
	s := ""
	for _, e := range events {
		s += fmt.Sprintf("%s %s%s%s;", e.Type, e.Member, e.Step, e.Observed)
	}
	return s
}

func TestQueueKeepsTheLatestNumber(t *testing.T) {
	q := newQueue()
	q.push(wait("a", "9"))
	q.push(wait("b", "1"))
	q.push(event.Event{Type: event.Started, Step: "s"})
	q.push(wait("a", "8"))
	q.push(event.Event{Type: event.Passed, Member: "a", Reason: "MemberServing", Message: "a serving"})
	q.push(wait("a", "7"))
	q.push(wait("a", "6"))
	q.push(event.Event{Type: event.Progress, Component: "pd"})
	q.push(event.Event{Type: event.Progress, Component: "pd"})
	events, closed := q.take()
	// The 8 stays: the gate passed after it, and a gate that closes again is another wait.
	want := "waiting b1;started s;waiting a8;passed a;waiting a6;progress ;"
	if got := summary(events); got != want || closed {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if events, _ := q.take(); len(events) != 0 {
		t.Errorf("left over: %s", summary(events))
	}
}

func TestQueueEndsWithDone(t *testing.T) {
	q := newQueue()
	q.push(event.Event{Type: event.Done})
	q.push(wait("a", "1"))
	q.push(event.Event{Type: event.Done})
	if events, _ := q.take(); summary(events) != "done ;" {
		t.Errorf("got %s", summary(events))
	}
	q.close()
	if _, closed := q.take(); !closed {
		t.Error("not closed")
	}
}

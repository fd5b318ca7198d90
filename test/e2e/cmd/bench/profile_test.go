package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

func TestProfile(t *testing.T) {
	p := profileOf(measured{wall: 14 * s, events: upgrade()})
	want(t, "gates", p.gates, []part{
		{"pd MemberServing ×1", 5 * s},
		{"tikv MemberServing ×2", 3 * s},
		{"tikv LeadersReturned ×1", 3 * s},
	})
	want(t, "steps", p.steps, []part{{"move PD leader from pd-1 to pd-0", 2 * s}})
	want(t, "idle", p.idle, []part{
		{"before the first event and after the last one", s},
		{"after: move PD leader from pd-1 to pd-0", s},
		{"after: restart pd-1", 900 * time.Millisecond},
	})
	if sum := 2900 * time.Millisecond; p.nothing != sum {
		t.Errorf("idle for %v, want %v", p.nothing, sum)
	}
}

func want(t *testing.T, name string, got, want []part) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%v, want\n%v", name, got, want)
	}
}

func TestProfileOfManyKinds(t *testing.T) {
	var events []event.Event
	for n := range 10 {
		reason := fmt.Sprint("Reason", n)
		events = append(events, gate(0, event.Waiting, "", "", reason, event.FromKubernetes), gate(float64(n), event.Passed, "", "", reason, event.FromKubernetes))
	}
	p := profileOf(measured{wall: 9 * s, events: events})
	if len(p.gates) != kinds || p.gates[0] != (part{"cluster Reason9 ×1", 9 * s}) || p.gates[7] != (part{"cluster Reason2 ×1", 2 * s}) {
		t.Errorf("%v, want the %d largest", p.gates, kinds)
	}
}

// A run in which nothing takes longer than the limit has no long parts.
func TestProfileOfShortRun(t *testing.T) {
	p := profileOf(measured{wall: 500 * time.Millisecond, events: append(did(0, "Apply", "update", 0.2), event.Event{Time: at(0.4), Type: event.Done})})
	if len(p.gates)+len(p.steps)+len(p.idle) > 0 {
		t.Errorf("%+v, want nothing that is long", p)
	}
	if p.nothing != 300*time.Millisecond {
		t.Errorf("idle for %v, want 0.3 s", p.nothing)
	}
	if p := profileOf(measured{wall: s}); p.nothing != s || len(p.idle) > 0 {
		t.Errorf("a run without events: %+v", p)
	}
}

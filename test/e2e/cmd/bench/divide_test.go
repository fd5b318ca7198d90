package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// at is a time of a run.
func at(seconds float64) time.Time {
	return time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func gate(seconds float64, kind event.Type, component, member, reason, source string) event.Event {
	return event.Event{Time: at(seconds), Type: kind, Component: component, Member: member, Reason: reason, Source: source}
}

func did(seconds float64, action, text string, took float64) []event.Event {
	return []event.Event{
		{Time: at(seconds), Type: event.Started, Action: action, Step: text},
		{Time: at(seconds + took), Type: event.Finished, Action: action, Step: text, Seconds: took},
	}
}

// upgrade is a short run: TiKV is queued behind PD, whose leader is moved for 2 s and whose pod takes
// 5 s, of which the last second is PD's; then two stores are awaited at once.
func upgrade() []event.Event {
	return slices.Concat(
		[]event.Event{
			{Time: at(0), Type: event.Planned},
			gate(0, event.Waiting, "tikv", "", "RolloutQueued", event.FromKubernetes),
		},
		did(0, "MoveLeader", "move PD leader from pd-1 to pd-0", 2),
		did(3, "Restart", "restart pd-1", 0.1),
		[]event.Event{
			gate(3.1, event.Waiting, "pd", "pd-1", "MemberServing", event.FromKubernetes),
			gate(5, event.Waiting, "pd", "pd-1", "MemberServing", event.FromKubernetes),
			gate(7.1, event.Waiting, "pd", "pd-1", "MemberServing", event.FromDatabase),
			gate(8.1, event.Passed, "pd", "pd-1", "MemberServing", event.FromDatabase),
			gate(8.1, event.Passed, "tikv", "", "RolloutQueued", event.FromKubernetes),
			gate(8.1, event.Passed, "tikv", "tikv-9", "LeadersEvicted", event.FromDatabase), // never seen closed
			gate(9, event.Waiting, "tikv", "tikv-0", "MemberServing", event.FromKubernetes),
			gate(10, event.Waiting, "tikv", "tikv-1", "MemberServing", event.FromKubernetes),
			gate(10, event.Waiting, "tikv", "tikv-1", "LeadersReturned", event.FromDatabase),
			gate(11, event.Passed, "tikv", "tikv-0", "MemberServing", event.FromKubernetes),
			gate(12, event.Passed, "tikv", "tikv-1", "MemberServing", event.FromKubernetes),
			gate(12.5, event.Blocked, "tikv", "tikv-1", "LeadersReturned", event.FromDatabase),
			{Time: at(13), Type: event.Done},
		},
	)
}

func TestDivide(t *testing.T) {
	// Pods: 3.1 to 7.1 and 9 to 12. Database: the move, 7.1 to 8.1, and 12 to 13.
	want := division{pods: 7 * s, database: 4 * s, own: 3 * s}
	if got := divide(measured{wall: 14 * s, events: upgrade()}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := divide(measured{wall: s}); got != (division{own: s}) {
		t.Errorf("a run without events: %+v", got)
	}
}

// A step is the database's by its action; a move that PD refuses takes time as well.
func TestStepsInDatabase(t *testing.T) {
	refused := []event.Event{{Time: at(2), Type: event.Failed, Action: "RemoveStore", Seconds: 2}}
	if got := divide(measured{wall: 3 * s, events: refused}); got.database != 2*s {
		t.Errorf("%+v, want 2 s in the database", got)
	}
	if got := divide(measured{wall: 3 * s, events: did(0, "Apply", "evict region leaders", 2)}); got.own != 3*s {
		t.Errorf("%+v, want all of it our own", got)
	}
}

// The names that are compared with those of events are documented ones: another name would match nothing.
func TestNamesAreDocumented(t *testing.T) {
	reasons := []string{"RolloutQueued", "SuspendQueued"}
	for _, reason := range reasons {
		if !queued(reason) {
			t.Errorf("%s is not queued", reason)
		}
	}
	for file, names := range map[string][]string{
		"events.md":            slices.Collect(maps.Keys(inDatabase)),
		"reference/reasons.md": reasons,
	} {
		text, err := os.ReadFile(filepath.Join("../../../../docs", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("%s does not have %s", file, name)
			}
		}
	}
}

func TestUnion(t *testing.T) {
	spans := []span{{at(5), at(6)}, {at(0), at(4)}, {at(1), at(2)}, {at(3), at(4.5)}, {at(7), at(7)}}
	if got := union(spans); got != 5500*time.Millisecond {
		t.Errorf("%v, want 5.5 s", got)
	}
	if !spans[0].from.Equal(at(5)) {
		t.Error("the spans of the caller were changed")
	}
}

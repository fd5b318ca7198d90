package state_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

func TestMember(t *testing.T) {
	ready := &state.Pod{Ready: true}
	serving := state.Database{Presence: state.Present, Healthy: true}
	for want, m := range map[string]state.Member{
		"":                                   {Pod: ready, Database: serving},
		"no pod":                             {Database: serving},
		"pod is terminating":                 {Pod: &state.Pod{Ready: true, Terminating: true}, Database: serving},
		"ImagePullBackOff":                   {Pod: &state.Pod{Problem: "ImagePullBackOff"}, Database: serving},
		"pod is not ready":                   {Pod: &state.Pod{}, Database: serving},
		"has not joined":                     {Pod: ready, Database: state.Database{Presence: state.Absent}},
		"unknown, not asked":                 {Pod: ready},
		"connection refused":                 {Pod: ready, Database: state.Database{Problem: "connection refused"}},
		"store is Down":                      {Pod: ready, Database: state.Database{Presence: state.Present, State: state.StoreDown}},
		"PD has not heard of it since start": {Pod: ready, Database: state.Database{Presence: state.Present, State: state.StoreUp, Problem: "PD has not heard of it since start"}},
		"not healthy":                        {Pod: ready, Database: state.Database{Presence: state.Present}},
	} {
		if got := m.Trouble(); got != want || m.Up() != (want == "") {
			t.Errorf("%+v: got %q, %t, want %q", m, got, m.Up(), want)
		}
	}
}

// TestServes: a member is healthy only if the database reports it and calls it healthy.
func TestServes(t *testing.T) {
	ready := &state.Pod{Ready: true}
	forgotten := state.Member{Pod: ready, Database: state.Database{Presence: state.Absent, Healthy: true}}
	if forgotten.Up() {
		t.Error("a member that the database does not know serves")
	}
	up := state.Member{Pod: ready, Database: state.Database{Presence: state.Present, State: state.StoreUp}}
	if got := up.Trouble(); got != "not healthy" {
		t.Errorf("a store that is Up and has sent no heartbeat yet: %q", got)
	}
}

// TestDownSince: the earliest sign there is of a member that does not serve.
func TestDownSince(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	pod := func(ready bool, since int) *state.Pod { return &state.Pod{Ready: ready, Since: at(since)} }
	absent := func(since time.Time) state.Database { return state.Database{Since: since} }
	made := pod(false, 20)
	made.Made = at(15)
	for name, c := range map[string]struct {
		m    state.Member
		want time.Time
	}{
		"it serves": {state.Member{Pod: pod(true, 5), Database: state.Database{
			Presence: state.Present, Healthy: true, Since: at(1),
		}}, time.Time{}},
		"it has no pod":                                 {state.Member{Database: absent(at(3))}, at(3)},
		"only the pod is known":                         {state.Member{Pod: pod(false, 5)}, at(5)},
		"the pod was ready for longer":                  {state.Member{Pod: pod(false, 5), Database: absent(at(3))}, at(3)},
		"the database has heard of it for longer":       {state.Member{Pod: pod(false, 5), Database: absent(at(9))}, at(5)},
		"the pod is ready, the database does not agree": {state.Member{Pod: pod(true, 5), Database: absent(at(9))}, at(9)},
		"the pod is ready, and nothing else is known":   {state.Member{Pod: pod(true, 5)}, time.Time{}},
		"the pod was made since":                        {state.Member{Pod: made, Database: absent(at(3))}, at(15)},
	} {
		if got := c.m.DownSince(); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestMarked(t *testing.T) {
	for _, tc := range []struct {
		marks []bool
		want  bool
	}{{nil, false}, {[]bool{false}, false}, {[]bool{true, false}, false}, {[]bool{true, true}, true}} {
		var m state.Member
		for _, marked := range tc.marks {
			m.Claims = append(m.Claims, state.Claim{Marked: marked})
		}
		if m.Marked() != tc.want {
			t.Errorf("%v: got %t", tc.marks, m.Marked())
		}
	}
}

func TestOutdated(t *testing.T) {
	rolling := state.Set{Replicas: 3, Partition: 2, UpdateRevision: "v2", CurrentRevision: "v1"}
	finished := state.Set{Replicas: 3, Partition: 3, UpdateRevision: "v2", CurrentRevision: "v2"}
	manual := state.Set{Replicas: 3, Partition: 3, UpdateRevision: "v2", CurrentRevision: "v1", Manual: true}
	for name, tc := range map[string]struct {
		set  state.Set
		m    state.Member
		want bool
	}{
		"old":                               {rolling, state.Member{Pod: &state.Pod{Revision: "v1"}}, true},
		"new":                               {rolling, state.Member{Pod: &state.Pod{Revision: "v2"}}, false},
		"missing, would be made old":        {rolling, state.Member{Ordinal: 1}, true},
		"missing, would be made new":        {rolling, state.Member{Ordinal: 2}, false},
		"missing, there is no old one":      {finished, state.Member{Ordinal: 1}, false},
		"missing, updates are the user's":   {manual, state.Member{Ordinal: 1}, false},
		"outdated, updates are the user's":  {manual, state.Member{Pod: &state.Pod{Revision: "v1"}}, true},
		"up to date, updates are the users": {manual, state.Member{Pod: &state.Pod{Revision: "v2"}}, false},
	} {
		if got := (state.Group{Set: tc.set}).Outdated(tc.m); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestGroup(t *testing.T) {
	first := state.Member{Pod: &state.Pod{Ready: true}, Database: state.Database{Presence: state.Present, Healthy: true}}
	third := first
	third.Ordinal = 2
	g := state.Group{Set: state.Set{Replicas: 2}, Members: []state.Member{first, {Name: "b", Ordinal: 1}, third}}
	if n := len(g.InSet()); n != 2 || g.Up() != 1 {
		t.Errorf("%d running, %d up", n, g.Up())
	}
	if _, ok := g.Member("b"); !ok {
		t.Error("b is not found")
	}
	if _, ok := g.Member("c"); ok {
		t.Error("c is found")
	}
	g.Set.Replicas = 9
	if n := len(g.InSet()); n != 3 {
		t.Errorf("%d running", n)
	}
}

func TestPDServing(t *testing.T) {
	for name, tc := range map[string]struct {
		pd   state.PD
		want bool
	}{
		"all":             {state.PD{Members: 3, Healthy: 3, Leader: "a"}, true},
		"most":            {state.PD{Members: 3, Healthy: 2, Leader: "a"}, true},
		"half":            {state.PD{Members: 4, Healthy: 2, Leader: "a"}, false},
		"no leader":       {state.PD{Members: 3, Healthy: 3}, false},
		"the only one":    {state.PD{Members: 1, Healthy: 1, Leader: "a"}, true},
		"no members":      {state.PD{}, false},
		"does not answer": {state.PD{Members: 3, Healthy: 3, Leader: "a", Problem: "timeout"}, false},
	} {
		if got := tc.pd.Serving(); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestEviction(t *testing.T) {
	s := state.Snapshot{Evictions: []state.Eviction{{StoreID: 4, Member: "t-tikv-3"}}}
	if e, ok := s.Eviction(4); !ok || e.Member != "t-tikv-3" {
		t.Errorf("got %+v", e)
	}
	if _, ok := s.Eviction(5); ok {
		t.Error("found one that is not there")
	}
}

// TestStopped: the status of a pod alone does not prove that no process runs.
func TestStopped(t *testing.T) {
	running, old, unaddressed := &state.Pod{Addressed: true, Ran: true, Started: time.Unix(1, 0)}, &state.Pod{Addressed: true, Ran: true}, &state.Pod{Ran: true}
	for name, c := range map[string]struct {
		member  state.Member
		stopped bool
	}{
		"no pod":                               {state.Member{}, true},
		"it runs":                              {state.Member{Pod: running}, false},
		"its pod has no address":               {state.Member{Pod: unaddressed}, true},
		"nothing listens on its port":          {state.Member{Pod: old, Database: state.Database{Answer: state.Refused}}, true},
		"its port answers with an error":       {state.Member{Pod: old, Database: state.Database{Answer: state.Refused, Listening: true}}, false},
		"its port cannot be asked":             {state.Member{Pod: old, Database: state.Database{Answer: state.NoAnswer}}, false},
		"it was not asked":                     {state.Member{Pod: old}, false},
		"it answers":                           {state.Member{Pod: old, Database: state.Database{Answer: state.Answered}}, false},
		"the database says that it is healthy": {state.Member{Pod: old, Database: state.Database{Healthy: true, Answer: state.NoAnswer}}, false},
	} {
		if got := c.member.Stopped(); got != c.stopped {
			t.Errorf("%s: stopped %v", name, got)
		}
	}
}

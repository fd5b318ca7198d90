package state_test

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
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
		"unknown: not asked":                 {Pod: ready},
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
	up := state.Member{Pod: &state.Pod{Ready: true}, Database: state.Database{Presence: state.Present, Healthy: true}}
	g := state.Group{Set: state.Set{Replicas: 2}, Members: []state.Member{up, {Name: "b"}, up}}
	if n := len(g.Running()); n != 2 || g.Up() != 1 {
		t.Errorf("%d running, %d up", n, g.Up())
	}
	if _, ok := g.Member("b"); !ok {
		t.Error("b is not found")
	}
	if _, ok := g.Member("c"); ok {
		t.Error("c is found")
	}
	g.Set.Replicas = 9
	if n := len(g.Running()); n != 3 {
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
		"nobody":          {state.PD{}, false},
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

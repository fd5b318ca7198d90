package observe

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestUnlistedStores: PD lists no store at the address of a pod. The store is absent only where nothing contradicts
// that.
func TestUnlistedStores(t *testing.T) {
	ran := &state.Pod{Ran: true, Started: noon}
	for name, c := range map[string]struct {
		others []string // addresses of stores in PD that are of no pod
		pod    *state.Pod
		port   port
		want   state.Presence
		says   string
	}{
		"it has joined no cluster":                   {nil, ran, holding(0, 0), state.Absent, ""},
		"it has regions":                             {nil, ran, holding(1, 3), state.Unknown, "counts 3 regions"},
		"it has ended":                               {nil, ran, fails(refused), state.Absent, ""},
		"it cannot be asked":                         {nil, ran, fails(tunnel), state.Absent, ""},
		"another address, and it cannot be asked":    {[]string{"10.0.0.9:20160"}, ran, fails(tunnel), state.Unknown, "10.0.0.9:20160"},
		"another address, and it has ended":          {[]string{"10.0.0.9:20160"}, ran, fails(refused), state.Unknown, "10.0.0.9:20160"},
		"another address, and it has joined nothing": {[]string{"10.0.0.9:20160"}, ran, holding(0, 0), state.Absent, ""},
		"another address, and it has never run":      {[]string{"10.0.0.9:20160"}, &state.Pod{}, unasked(t), state.Absent, ""},
		"another address, and it has no pod":         {[]string{"10.0.0.9:20160"}, nil, unasked(t), state.Absent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := database{state: state.PD{Members: 3}, unplaced: map[topology.Kind][]unplaced{}}
			for _, address := range c.others {
				d.noteUnplaced(&pd.Store{ID: 4, Address: address})
			}
			members := []state.Member{{Kind: topology.TiKV, Name: "basic-tikv-0", Pod: c.pod, Database: d.member(topology.TiKV, 0, c.pod, noon).Database}}
			through(c.port).askStores(t.Context(), basic, members)
			if got := members[0].Database; got.Presence != c.want || !strings.Contains(got.Problem, c.says) {
				t.Errorf("%v, %q", got.Presence, got.Problem)
			}
		})
	}
}

// TestClaimOfUnlistedStore: the label of a claim says which store had the data. While PD lists that store, the data
// counts, also where the pod is missing, has never run, or has a process that has joined nothing yet.
func TestClaimOfUnlistedStore(t *testing.T) {
	claim := func(id string) []state.Claim {
		return []state.Claim{{Identity: state.Identity{Labels: map[string]string{topology.LabelStoreID: id}}}}
	}
	for name, c := range map[string]struct {
		claims []state.Claim
		is     state.Database
		want   state.Presence
	}{
		"no pod":                        {claim("4"), state.Database{Presence: state.Absent}, state.Unknown},
		"its process answers":           {claim("4"), state.Database{Presence: state.Absent, Answer: state.Answered}, state.Unknown},
		"the label of another store":    {claim("5"), state.Database{Presence: state.Absent}, state.Absent},
		"no label":                      {claim(""), state.Database{Presence: state.Absent}, state.Absent},
		"no claim":                      {nil, state.Database{Presence: state.Absent}, state.Absent},
		"PD lists it at its pod, as Up": {claim("4"), state.Database{Presence: state.Present, ID: 4}, state.Present},
	} {
		d := database{unplaced: map[topology.Kind][]unplaced{topology.TiKV: {{id: 4, address: "10.0.0.9:20160"}}}}
		members := []state.Member{{Kind: topology.TiKV, Name: "basic-tikv-0", Claims: c.claims, Database: c.is}}
		d.heldByClaims(members)
		if got := members[0].Database; got.Presence != c.want || (c.want == state.Unknown) != strings.Contains(got.Problem, "store 4") {
			t.Errorf("%s: %v, %q", name, got.Presence, got.Problem)
		}
	}
}

// TestUnlistedMembers: a process that PD does not list may still follow a leader, so that PD has its vote.
func TestUnlistedMembers(t *testing.T) {
	for answer, want := range map[string]state.Presence{
		`{"header":{"member_id":"7"},"leader":"9"}`: state.Unknown,
		`{"header":{"member_id":"7"},"leader":"0"}`: state.Absent,
		`not JSON`: state.Absent,
	} {
		o := through(says(http.StatusOK, answer))
		members := []state.Member{{Kind: topology.PD, Name: "basic-pd-0", Pod: &state.Pod{Started: noon}, Database: state.Database{Presence: state.Absent}}}
		o.askMembers(t.Context(), basic, members)
		if got := members[0].Database.Presence; got != want {
			t.Errorf("%s: %v", answer, got)
		}
	}
}

// TestRemovedMember: etcd in a process that PD has removed stops, and names for ever the leader that it has followed
// last. The process has no vote, so it is absent, and its pod may be replaced.
func TestRemovedMember(t *testing.T) {
	for name, c := range map[string]struct {
		lists []uint64 // by PD, after the process has answered
		fails bool
		want  state.Presence
	}{
		"removed":                                {[]uint64{9, 8}, false, state.Absent},
		"joined since PD was read":               {[]uint64{9, 8, 7}, false, state.Unknown},
		"it follows a leader of another cluster": {[]uint64{8}, false, state.Unknown},
		"PD does not answer":                     {[]uint64{9, 8}, true, state.Unknown},
	} {
		o := through(says(http.StatusOK, `{"header":{"member_id":"7"},"leader":"9"}`))
		var members []pd.Member
		for _, id := range c.lists {
			members = append(members, pd.Member{ID: id, Name: fmt.Sprint(id)})
		}
		fake := pd.NewFake(0, 0)
		fake.Update(func(s *pd.FakeState) { s.Members, s.Leader, s.Unreachable = members, "8", c.fails })
		o.pd = fake
		asked := []state.Member{{Kind: topology.PD, Name: "basic-pd-0", Pod: &state.Pod{Started: noon}, Database: state.Database{Presence: state.Absent}}}
		o.askMembers(t.Context(), basic, asked)
		if got := asked[0].Database.Presence; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestUnplacedStores: stores of other clusters of the same PD have pods, and say nothing about ours.
func TestUnplacedStores(t *testing.T) {
	for address, strange := range map[string]bool{
		"10.0.0.9:20160": true, "tikv-1.example.com:20160": true, "basic-tikv-0:20160": true,
		"other-tikv-0.other-tikv-peer.db.svc:20160": false, "basic-tikv-0.basic-tikv-peer.db.svc.cluster.local:20160": false,
	} {
		d := database{unplaced: map[topology.Kind][]unplaced{}}
		d.noteUnplaced(&pd.Store{ID: 4, Address: address})
		d.noteUnplaced(&pd.Store{Address: address, State: pd.StoreTombstone})
		if got := len(d.unplaced[topology.TiKV]) == 1; got != strange {
			t.Errorf("%s: %v", address, got)
		}
	}
}

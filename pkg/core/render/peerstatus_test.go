package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestPeerStatus: members elsewhere are in the status as tidb-operator writes them, apart from the members here, and have
// no part in the condition Ready. Numbers of leaders alone are no change.
func TestPeerStatus(t *testing.T) {
	s := healthyScene(t)
	s.snap.PD.OtherStores = []state.OtherStore{
		{Component: topology.TiKV, ID: 31, Host: "more-tikv-0.more-tikv-peer.db.svc", State: state.StoreUp, Leaders: 4},
		{Component: topology.TiKV, ID: 32, Host: "10.0.0.7", State: state.StoreDown, Leaders: 0},
		{Component: topology.TiFlash, ID: 33, Host: "more-tiflash-0.more-tiflash-peer.db.svc", State: state.StoreUp},
	}
	s.snap.PD.OtherVoters = []state.OtherVoter{{ID: 12, Name: "far-pd-0", ClientURL: "http://far-pd-0.far-pd-peer.db.svc:2379", Healthy: true}}
	s.snap.PD.Leader, s.member(topology.PD).Database.Leader = "far-pd-0", false
	got := s.status(v1alpha1.TidbClusterStatus{})
	stores := map[string]v1alpha1.TiKVStore{
		"31": {ID: "31", PodName: "more-tikv-0", IP: "more-tikv-0.more-tikv-peer.db.svc", LeaderCount: 4, State: "Up", LastTransitionTime: atNoon},
		"32": {ID: "32", PodName: "10", IP: "10.0.0.7", State: "Down", LastTransitionTime: atNoon},
	}
	leader := v1alpha1.PDMember{Name: "far-pd-0", ID: "12", ClientURL: "http://far-pd-0.far-pd-peer.db.svc:2379", Health: true, LastTransitionTime: atNoon}
	if diff := cmp.Diff(stores, got.TiKV.PeerStores); diff != "" || len(got.TiKV.Stores) != 1 {
		t.Errorf("TiKV: %s", diff)
	}
	if diff := cmp.Diff(map[string]v1alpha1.PDMember{"far-pd-0": leader}, got.PD.PeerMembers); diff != "" || len(got.PD.Members) != 1 {
		t.Errorf("PD: %s", diff)
	}
	if diff := cmp.Diff(leader, got.PD.Leader); diff != "" {
		t.Errorf("leader: %s", diff)
	}
	if got.TiFlash.PeerStores != nil || got.Conditions[0].Status != "True" {
		t.Errorf("%v, %v", got.TiFlash.PeerStores, got.Conditions)
	}

	s.snap.At = later
	s.snap.PD.OtherStores[0].Leaders = 5
	s.snap.PD.OtherVoters[0].Healthy, s.snap.PD.OtherVoters[0].Unasked = false, true
	if diff := cmp.Diff(got, s.status(got)); diff != "" {
		t.Errorf("a leader more, or a voter that was not asked, is a status to write:\n%s", diff)
	}
	s.snap.PD.OtherStores[1].State = state.StoreUp
	next := s.status(got).TiKV.PeerStores
	if next["31"].LeaderCount != 5 || next["31"].LastTransitionTime != atNoon || next["32"].LastTransitionTime != atLater {
		t.Errorf("%v", next)
	}
	s.snap.PD.OtherStores, s.snap.PD.OtherVoters = nil, nil
	if gone := s.status(got); gone.TiKV.PeerStores != nil || gone.PD.PeerMembers != nil {
		t.Errorf("%v, %v", gone.TiKV.PeerStores, gone.PD.PeerMembers)
	}
}

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ngaut/unistore/pd"
	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/kvproto/pkg/pdpb"
)

// fakePD records the reports of a store, and sends it the orders of a test.
type fakePD struct {
	pd.Client
	store *metapb.Store
	stats *pdpb.StoreStats
	order func(*pdpb.RegionHeartbeatResponse)
}

func (f *fakePD) PutStore(_ context.Context, store *metapb.Store) error {
	f.store = store
	return nil
}

func (f *fakePD) StoreHeartbeat(_ context.Context, stats *pdpb.StoreStats) error {
	f.stats = stats
	return nil
}

func (f *fakePD) SetRegionHeartbeatResponseHandler(handle func(*pdpb.RegionHeartbeatResponse)) {
	f.order = handle
}

func TestStoreRegistersItsVersion(t *testing.T) {
	fake := &fakePD{}
	started := time.Unix(1700000000, 0)
	p := &placement{Client: fake, version: "8.1.1", status: "store:20180", started: started}
	if err := p.PutStore(context.Background(), &metapb.Store{Version: "3.0.0-bata.1"}); err != nil {
		t.Fatal(err)
	}
	if fake.store.Version != "8.1.1" || fake.store.StatusAddress != "store:20180" || fake.store.StartTimestamp != started.Unix() {
		t.Errorf("registered %+v", fake.store)
	}
	if err := p.StoreHeartbeat(context.Background(), &pdpb.StoreStats{}); err != nil || fake.stats.StartTime != uint32(started.Unix()) {
		t.Errorf("reported %+v, %v", fake.stats, err)
	}
}

func TestOrdersAreTranslated(t *testing.T) {
	fake := &fakePD{}
	var handled []*pdpb.RegionHeartbeatResponse
	p := &placement{Client: fake}
	p.SetRegionHeartbeatResponseHandler(func(order *pdpb.RegionHeartbeatResponse) { handled = append(handled, order) })

	change := &pdpb.ChangePeer{Peer: &metapb.Peer{Id: 7}}
	for what, test := range map[string]struct {
		order *pdpb.RegionHeartbeatResponse
		want  bool
	}{
		"one change":     {&pdpb.RegionHeartbeatResponse{ChangePeerV2: &pdpb.ChangePeerV2{Changes: []*pdpb.ChangePeer{change}}}, true},
		"a joint change": {&pdpb.RegionHeartbeatResponse{ChangePeerV2: &pdpb.ChangePeerV2{Changes: []*pdpb.ChangePeer{change, change}}}, false},
		"a transfer":     {&pdpb.RegionHeartbeatResponse{TransferLeader: &pdpb.TransferLeader{}}, true},
		// A split at given keys goes to the raft store, which does not exist here yet.
		"a split at keys": {&pdpb.RegionHeartbeatResponse{SplitRegion: &pdpb.SplitRegion{
			Policy: pdpb.CheckPolicy_USEKEY, Keys: [][]byte{{1}},
		}}, false},
		"a split in half": {&pdpb.RegionHeartbeatResponse{SplitRegion: &pdpb.SplitRegion{}}, true},
	} {
		handled = nil
		fake.order(test.order)
		if got := len(handled) == 1; got != test.want {
			t.Errorf("%s: passed on: %v", what, got)
		}
		if what == "one change" && handled[0].ChangePeer != change {
			t.Errorf("%s became %v", what, handled[0])
		}
	}
}

func TestJointConsensusIsForbiddenOnceSomePDAnswers(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		calls++
		if in.URL.Path != "/pd/api/v1/config" || in.Method != http.MethodPost {
			t.Errorf("%s %s", in.Method, in.URL)
		}
		if calls == 1 {
			http.Error(out, "no leader", http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	forbidJointConsensus([]string{server.URL})
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/ioutil"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ngaut/unistore/pd"
	"github.com/ngaut/unistore/tikv/raftstore"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/kvproto/pkg/pdpb"
	"github.com/pingcap/log"
	"go.uber.org/zap"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/parts/store/security"
)

// placement makes a store of 2020 get along with a PD of 2024: it registers the version of the image, and translates
// orders that the store does not know into orders that it does.
type placement struct {
	pd.Client
	version string
	peer    string // for other stores, where that is not the store's address
	status  string
	started time.Time
	router  atomic.Value // *raftstore.RaftstoreRouter
	id      atomic.Uint64
}

// connect waits for PD: in a new cluster all pods start at the same time, and ending would mean that Kubernetes waits
// longer before each new attempt.
func connect(addresses []string) pd.Client {
	for {
		client, err := pd.NewClient(addresses, "")
		if err == nil {
			return client
		}
		log.Warn("PD does not answer yet", zap.Strings("addresses", addresses), zap.Error(err))
	}
}

func (p *placement) describe(store *metapb.Store) {
	p.id.Store(store.Id)
	store.Version = p.version
	store.PeerAddress = p.peer
	store.StatusAddress = p.status
	store.StartTimestamp = p.started.Unix()
}

// Bootstrap implements pd.Client.
func (p *placement) Bootstrap(ctx context.Context, store *metapb.Store, region *metapb.Region) (*pdpb.BootstrapResponse, error) {
	p.describe(store)
	return p.Client.Bootstrap(ctx, store, region)
}

// PutStore implements pd.Client.
func (p *placement) PutStore(ctx context.Context, store *metapb.Store) error {
	p.describe(store)
	return p.Client.PutStore(ctx, store)
}

// GetStore implements pd.Client. Stores ask for each other, and the library knows one address of a store only.
func (p *placement) GetStore(ctx context.Context, id uint64) (*metapb.Store, error) {
	store, err := p.Client.GetStore(ctx, id)
	if err == nil && store.GetPeerAddress() != "" {
		other := *store
		other.Address = store.PeerAddress
		return &other, nil
	}
	return store, err
}

// StoreHeartbeat implements pd.Client. The library reports the second of the minute as the start time.
func (p *placement) StoreHeartbeat(ctx context.Context, stats *pdpb.StoreStats) error {
	stats.StartTime = uint32(p.started.Unix())
	return p.Client.StoreHeartbeat(ctx, stats)
}

// SetRegionHeartbeatResponseHandler implements pd.Client.
func (p *placement) SetRegionHeartbeatResponseHandler(handle func(*pdpb.RegionHeartbeatResponse)) {
	p.Client.SetRegionHeartbeatResponseHandler(func(order *pdpb.RegionHeartbeatResponse) {
		if split := order.GetSplitRegion(); split.GetPolicy() == pdpb.CheckPolicy_USEKEY && len(split.GetKeys()) > 0 {
			go p.split(order)
			return
		}
		if changes := order.GetChangePeerV2().GetChanges(); len(changes) == 1 {
			order.ChangePeer = changes[0]
		} else if order.GetChangePeerV2() != nil {
			log.Warn("PD orders a joint change of peers, which this store cannot do", zap.Stringer("order", order))
			return
		}
		handle(order)
	})
}

// split does what the library leaves out, a split at the keys that PD names. PD insists on it for the borders of
// keyspaces and does nothing else with a region, not even replicate it, until it is split.
func (p *placement) split(order *pdpb.RegionHeartbeatResponse) {
	router, ready := p.router.Load().(*raftstore.RaftstoreRouter)
	if !ready {
		return // PD repeats its order.
	}
	ctx := &kvrpcpb.Context{RegionId: order.RegionId, RegionEpoch: order.RegionEpoch, Peer: order.TargetPeer}
	if _, err := router.SplitRegion(ctx, order.GetSplitRegion().GetKeys()); err != nil {
		log.Warn("cannot split a region as PD ordered", zap.Stringer("order", order), zap.Error(err))
	}
}

// forbidJointConsensus makes PD change one peer at a time, which is all that the store can do. PD
// assumes more of every store that calls itself 5.0 or later.
func forbidJointConsensus(addresses []string) {
	body := []byte(`{"schedule.enable-joint-consensus": "false"}`)
	for {
		for _, address := range addresses {
			err := post(baseURL(address)+"/pd/api/v1/config", body)
			if err == nil {
				return
			}
			log.Warn("cannot configure PD yet", zap.String("address", address), zap.Error(err))
		}
		time.Sleep(500 * time.Millisecond)
	}
}

func baseURL(address string) string {
	if strings.Contains(address, "://") {
		return strings.TrimSuffix(address, "/")
	}
	return security.Scheme() + "://" + address
}

func post(url string, body []byte) error {
	transport, err := security.HTTP()
	if err != nil {
		return err
	}
	client := http.Client{Timeout: 3 * time.Second, Transport: transport}
	response, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, _ := ioutil.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(answer)))
	}
	return nil
}

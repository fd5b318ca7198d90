package observe

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// unreachable is a Dialer that records which addresses are dialed, and reaches none.
type unreachable struct {
	mu     sync.Mutex
	dialed []string
}

func (u *unreachable) DialContext(_ context.Context, _, addr string) (net.Conn, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dialed = append(u.dialed, addr)
	return nil, errors.New("unreachable")
}

func (*unreachable) Close() error { return nil }

// TestWhereCertificatesAreShown: on a port of each component that shows the certificate of its Secret. TiProxy may show
// that of TiDB, so that nothing can be concluded from it.
func TestWhereCertificatesAreShown(t *testing.T) {
	c := basic
	c.TLS.Members = true
	snap := state.Snapshot{Groups: map[topology.Kind]state.Group{}}
	for _, k := range topology.Kinds() {
		c.Groups = append(c.Groups, topology.Group{Kind: k})
		snap.Groups[k] = state.Group{Members: []state.Member{
			{Kind: k, Name: c.PodName(k, 0), Pod: &state.Pod{Started: noon}}, {Kind: k, Ordinal: 1, Name: c.PodName(k, 1)},
		}}
	}
	d := &unreachable{}
	found := ReadServed(t.Context(), dial.Any(d), c, snap)
	slices.Sort(d.dialed)
	want := []string{
		"basic-pd-0.basic-pd-peer.db.svc:2379", "basic-pump-0.basic-pump.db.svc:8250",
		"basic-scheduling-0.basic-scheduling-peer.db.svc:2379", "basic-ticdc-0.basic-ticdc-peer.db.svc:8301",
		"basic-tidb-0.basic-tidb-peer.db.svc:10080", "basic-tiflash-0.basic-tiflash-peer.db.svc:20292", "basic-tikv-0.basic-tikv-peer.db.svc:20180",
		"basic-tso-0.basic-tso-peer.db.svc:2379",
	}
	if !slices.Equal(d.dialed, want) {
		t.Errorf("asked %q, want %q", d.dialed, want)
	}
	for _, s := range found {
		if _, known := s.Older(); s.Err == nil || known {
			t.Errorf("%s was not reached: %+v", s.Member, s)
		}
	}
	if c.TLS.Members = false; ReadServed(t.Context(), dial.Any(d), c, snap) != nil || len(d.dialed) != len(want) {
		t.Error("asked members of a cluster without TLS")
	}
}

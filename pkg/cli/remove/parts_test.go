package remove

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// TestStrangers: members of clusters that stay are named in order, whatever the order of PD's answer.
func TestStrangers(t *testing.T) {
	const host = ".more-tikv-peer.other.svc"
	pd := state.PD{OtherStores: []state.OtherStore{
		{Host: "more-tikv-1" + host}, {Host: "shop-tikv-0.shop-tikv-peer.prod.svc"}, {Host: "more-tikv-0" + host},
	}}
	got := strangers(pd, "", []cache.ObjectName{cache.NewObjectName("prod", "shop")})
	if want := []string{"more-tikv-0" + host, "more-tikv-1" + host}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestStrangersAcross: members in another Kubernetes cluster have the same names, and another domain.
func TestStrangersAcross(t *testing.T) {
	const host = "shop-tikv-0.shop-tikv-peer.prod.svc"
	pd := state.PD{OtherStores: []state.OtherStore{{Host: host + ".eu.example"}, {Host: host + ".us.example"}, {Host: host}}}
	got := strangers(pd, "eu.example", []cache.ObjectName{cache.NewObjectName("prod", "shop")})
	if want := []string{host + ".us.example"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUsedByAddresses: a TidbCluster that has joined PD by its addresses is recorded nowhere here. PD lists its stores.
func TestUsedByAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		guest  string
		silent bool
		want   string
	}{
		"nobody":                          {"", false, ""},
		"a store serves":                  {"Up", false, "PD lists members of clusters that stay: guest-tikv-0.guest-tikv-peer.other.svc"},
		"a store is gone":                 {"Down", false, ""},
		"a store, and PD does not answer": {"Up", true, ""},
	} {
		d := runs(t, &placementDriver{id: 7, guest: c.guest, silent: c.silent}, nil)
		err := d.leaves(t.Context(), []cache.ObjectName{cache.NewObjectName("db", "basic")})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package remove

import (
	"slices"
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

package act

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

var move = step.MoveLeader{From: "basic-pd-0", To: "basic-pd-2", FromName: "basic-pd-0", ToName: "basic-pd-2"}

func TestMoveLeader(t *testing.T) {
	w := newFixture(t)
	w.do(t, move)
	w.do(t, move) // it leads already
	if got := strings.Join(w.writes(), ", "); got != "TransferLeader(basic-pd-2)" {
		t.Error(got)
	}
}

func TestMoveLeaderPreconditions(t *testing.T) {
	for name, change := range map[string]func(*pd.FakeState){
		"another leads":           func(s *pd.FakeState) { s.Leader = "basic-pd-1" },
		"the target is gone":      func(s *pd.FakeState) { s.Members = s.Members[:2] },
		"the target is sick":      func(s *pd.FakeState) { s.Unhealthy = map[string]bool{"basic-pd-2": true} },
		"the target is no member": func(s *pd.FakeState) { s.Members[2].Name = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			w.pd.Update(change)
			w.isStale(t, move)
		})
	}
}

var remove = step.RemoveMember{Member: "basic-pd-2", ID: 3}

func TestRemoveMember(t *testing.T) {
	w := newFixture(t)
	w.do(t, remove)
	w.do(t, remove) // it is gone
	if got := strings.Join(w.writes(), ", "); got != "DeleteMember(3)" {
		t.Error(got)
	}
}

func TestRemoveMemberPreconditions(t *testing.T) {
	for name, change := range map[string]func(*pd.FakeState){
		"it leads":  func(s *pd.FakeState) { s.Leader = "basic-pd-2" },
		"no quorum": func(s *pd.FakeState) { s.Unhealthy = map[string]bool{"basic-pd-1": true} },
		"all others are elsewhere": func(s *pd.FakeState) {
			for i := range 2 {
				s.Members[i].Name = strings.Replace(s.Members[i].Name, "basic-pd-", "basic-east-pd-", 1)
			}
			s.Leader = s.Members[0].Name
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			w.pd.Update(change)
			w.isStale(t, remove)
		})
	}
}

func TestRemoveMemberVerifies(t *testing.T) {
	w := newFixture(t)
	w.pd.Hook = func(_ context.Context, call string) error {
		if call == "DeleteMember(3)" {
			w.pd.Update(func(s *pd.FakeState) {
				s.Members = append(s.Members, pd.Member{Name: "basic-pd-2", ID: 3}) // PD still lists it
			})
		}
		return nil
	}
	if err := w.Do(t.Context(), remove); err == nil {
		t.Error("trusted PD's answer")
	}
}

func TestStorePreconditions(t *testing.T) {
	for name, change := range map[string]func(*pd.FakeState){
		"no such store":       func(s *pd.FakeState) { s.Stores = s.Stores[:3] },
		"another member's":    func(s *pd.FakeState) { s.Stores[3].Address = cluster.PodHost(topology.TiKV, 1) + ":20160" },
		"another namespace's": func(s *pd.FakeState) { s.Stores[3].Address = "basic-tikv-3.basic-tikv-peer.prod.svc:20160" },
		"one with a longer name": func(s *pd.FakeState) {
			s.Stores[3].Address = "basic-tikv-3.basic-tikv-peer.db.svcs.example.org:20160"
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			w.pd.Update(change)
			w.isStale(t, takeOffline)
			w.isStale(t, takeBack)
			w.isStale(t, step.EvictLeaders{Member: "basic-tikv-3", StoreID: 4})
		})
	}
	t.Run("a tombstone does not come back", func(t *testing.T) {
		w := newFixture(t)
		w.pd.Update(func(s *pd.FakeState) { s.Stores[3].State = pd.StoreTombstone })
		w.isStale(t, takeBack)
		w.do(t, takeOffline) // is what was wanted
		w.unchanged(t)
	})
}

// The domain is compared only if the TiDB cluster spans several Kubernetes clusters.
func TestHosts(t *testing.T) {
	host := cluster.PodHost(topology.TiKV, 0)
	for _, tt := range []struct {
		name string
		host string
		c    func(*topology.Cluster)
		want bool
	}{
		{"plain", host, func(*topology.Cluster) {}, true},
		{"domain added to the spec", host, func(c *topology.Cluster) { c.Domain = "a.local" }, true},
		{"domain taken out of the spec", host + ".a.local", func(*topology.Cluster) {}, true},
		{"across Kubernetes, own", host + ".a.local", func(c *topology.Cluster) { c.Domain, c.AcrossK8s = "a.local", true }, true},
		{"across Kubernetes, other", host + ".b.local", func(c *topology.Cluster) { c.Domain, c.AcrossK8s = "a.local", true }, false},
	} {
		a := Actor{cluster: cluster}
		tt.c(&a.cluster)
		if got := a.hosts("basic-tikv-0", tt.host); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestRefusedByPD(t *testing.T) {
	w := newFixture(t)
	w.pd.Update(func(s *pd.FakeState) { s.Replication.MaxReplicas = 4 })
	err := w.Do(t.Context(), takeOffline)
	if !errors.Is(err, pd.ErrRefused) || isFinal(err) {
		t.Errorf("got %v", err)
	}
}

func TestNoPD(t *testing.T) {
	a := New(api(), nil, func() pd.Client { return nil }, cluster, time.Now)
	if err := a.Do(t.Context(), move); err == nil {
		t.Error("no error without a PD client")
	}
}

func liveLedger(t *testing.T, w *fixture) map[string]string {
	t.Helper()
	cm, err := w.kube.CoreV1().ConfigMaps("db").Get(t.Context(), "basic-ledger", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return cm.Data
}

func ledgerMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: owned("basic-ledger", topology.TiKV), Data: data}
}

package database

import (
	"context"
	"io"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// sound are the counts of regions of which nothing is missing.
var sound = map[string]int{"miss-peer": 0, "pending-peer": 0, "down-peer": 0, "offline-peer": 0}

// TestIsolation: the real client reads where the copies of regions are as PD's leader counts them, and nothing of a
// leader that has not counted yet.
func TestIsolation(t *testing.T) {
	ask(t, settled(t, sim.Options{Isolated: true}), func(ctx context.Context, c clients) {
		counted := &pd.Isolation{Regions: 1200, Apart: map[string]int{"zone": 1200}, Unsound: sound, Pass: 20 * time.Second}
		got, err := c.pd.Isolation(ctx)
		c.must("read", err)
		if !reflect.DeepEqual(got, counted) {
			c.Errorf("%+v", got)
		}
		for _, m := range c.m.PDMembers() {
			if m.ID != c.m.PDLeader() {
				c.must("transfer", c.pd.TransferLeader(ctx, m.Name))
				break
			}
		}
		got, err = c.pd.Isolation(ctx)
		c.must("read", err)
		if want := (&pd.Isolation{Regions: 1200, Apart: map[string]int{}, Unsound: sound}); !reflect.DeepEqual(got, want) {
			c.Errorf("a new leader: %+v", got)
		}
		c.m.Pass(20)
		got, err = c.pd.Isolation(ctx)
		c.must("read", err)
		if !reflect.DeepEqual(got, counted) {
			c.Errorf("after a pass: %+v", got)
		}
	})
}

// TestMetricsOfMembers: only the leader's page has counts, and no member forwards the request.
func TestMetricsOfMembers(t *testing.T) {
	ask(t, settled(t, sim.Options{}), func(ctx context.Context, c clients) {
		member := http.Client{Transport: &http.Transport{DialContext: c.on.DialContext}}
		defer member.CloseIdleConnections()
		for _, m := range c.m.PDMembers() {
			url := c.d.cluster.MemberURL(topology.PD, m.Ordinal, topology.PDClientPort)
			asked, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
			c.must("request", err)
			page, err := member.Do(asked)
			c.must("read", err)
			text, err := io.ReadAll(page.Body)
			c.must("read", err)
			_ = page.Body.Close()
			counts := strings.Contains(string(text), `pd_regions_label_level{type="none"} 1200`)
			if leads := m.ID == c.m.PDLeader(); counts != leads || !strings.Contains(string(text), "pd_regions_status{") {
				c.Errorf("%s, which leads: %t: %s", m.Name, leads, text)
			}
		}
	})
}

// TestIsolationIsObserved: where copies are is read by an observer that was told so, and by no other.
func TestIsolationIsObserved(t *testing.T) {
	m := settled(t, sim.Options{Isolated: true, TiFlash: 1, Learners: 1})
	shown := m.Reported()
	tc := tidbCluster(m, shown)
	c := topology.New(tc)
	for _, reads := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			members := newNetwork(New(m))
			defer members.Close()
			kube := fake.NewClientset(objects(m, c, shown)...)
			o := observe.New(kube, dial.Any(members), func(context.Context) (*v1alpha1.TidbCluster, error) { return tc, nil }, m.Now)
			defer o.Close()
			var asked atomic.Int32
			o.OnPDCall(func(call string, _ time.Duration, _ error) {
				if call == "Isolation" {
					asked.Add(1)
				}
			})
			var want state.Isolation
			if reads {
				o.ReadIsolation()
				want = state.Isolation{
					Regions: 1200, Apart: map[string]int{"zone": 1200}, Unsound: maps.Clone(sound), Pass: 20 * time.Second, LabelsSince: m.Now(),
				}
			}
			seen, err := o.Against(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			got := seen.Snapshot.PD
			if !reflect.DeepEqual(got.Isolation, want) || (len(got.Placement.Stores) == 5) != reads || (asked.Load() == 1) != reads {
				t.Errorf("%+v, %d stores, %v", got.Isolation, len(got.Placement.Stores), asked.Load())
			}
		})
	}
}

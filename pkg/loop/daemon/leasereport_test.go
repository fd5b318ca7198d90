package daemon

import (
	"fmt"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/start"
)

// TestLeaseReport: the last report about a cluster is true, in whatever order the ends of its
// leases are seen.
func TestLeaseReport(t *testing.T) {
	for name, tt := range map[string]struct {
		do   []string
		want string // what was reported
	}{
		"begins and ends":                    {[]string{"begin a", "end a"}, "[true false]"},
		"ends late, when the next has begun": {[]string{"begin a", "begin b", "end a"}, "[true true]"},
		"the next one ends as well":          {[]string{"begin a", "begin b", "end a", "end b"}, "[true true false]"},
		"is released before its end is seen": {[]string{"begin a", "end a", "end a"}, "[true false]"},
		"has never begun":                    {[]string{"end -"}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			reports := []bool{}
			s := leaseReport{report: func(held bool) { reports = append(reports, held) }}
			all := map[string]*lease.Held{"a": {}, "b": {}}
			for _, step := range tt.do {
				var what, which string
				if _, err := fmt.Sscan(step, &what, &which); err != nil {
					t.Fatal(err)
				}
				before := len(reports)
				if what == "begin" {
					s.begin(all[which])
				} else if isNew := s.end(all[which]); isNew != (len(reports) > before) {
					t.Errorf("%s: got new %t and reports %v", step, isNew, reports[before:])
				}
			}
			if got := fmt.Sprint(reports); got != tt.want {
				t.Errorf("got reports %s, want %s", got, tt.want)
			}
		})
	}
}

// TestOver: a lease that ends by itself puts the cluster on the queue, unless it was released
// because there was nothing to do.
func TestOver(t *testing.T) {
	for name, tt := range map[string]struct {
		end   func(*testing.T, *fixture, *lease.Held)
		looks int
	}{
		"is idle": {func(_ *testing.T, _ *fixture, held *lease.Held) { held.MarkIdle() }, 0},
		"is deleted": {func(t *testing.T, s *fixture, _ *lease.Held) {
			if err := s.kube.CoordinationV1().Leases("db").Delete(t.Context(), s.lease(t).Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := setup(t, nil)
				d, err := New(Config{Connections: start.Connections{Kube: s.kube, Intent: intent.New(s.dyn)}, Meter: meter{s, "a"}})
				if err != nil {
					t.Fatal(err)
				}
				defer d.queue.ShutDown()
				tc, _ := belongings(t, "basic")
				held, err := lease.NewBid(s.kube, topology.New(tc), lease.Self()).Try(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				dr := &driver{key: basic, daemon: d, leaseReport: leaseReport{report: func(held bool) { d.Meter.Held(basic, held) }}}
				dr.taken(held)
				if !s.drives("a") {
					t.Error("it does not report that it drives the cluster")
				}
				tt.end(t, s, held)
				pass(longestPause)
				if s.drives("a") || d.queue.Len() != tt.looks {
					t.Errorf("driven: %t, %d clusters are on the queue", s.drives("a"), d.queue.Len())
				}
				_ = held.Release()
			})
		})
	}
}

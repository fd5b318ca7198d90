package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestCertificateExpires: members that nobody can reach, since their certificate has expired, are neither restarted nor
// given up, however long that lasts: their processes run, and serve again soon after the certificate is renewed.
func TestCertificateExpires(t *testing.T) {
	for _, k := range []kind{pd, tikv, tidb} {
		t.Run(kinds[k].Title(), func(t *testing.T) {
			w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
			w.Failover = true
			w.expireFor(k, 3*3600)
			w.Pass(400)
			if w.serves(k, 0) {
				t.Fatal("it serves with an expired certificate")
			}
			for w.t < w.spoiled[k] {
				if p, err := w.Drive(time.Hour); err == nil && p.Outcome == plan.Converged {
					t.Fatal("the cluster is said to have converged")
				}
				w.Pass(300)
			}
			w.Pass(200)
			fine(t, w)
			if w.Soft.Restarts > 0 || w.Soft.Failovers > 0 {
				t.Errorf("%d restarts, %d failovers\n%s", w.Soft.Restarts, w.Soft.Failovers, w.Transcript())
			}
		})
	}
}

// TestCertificateExpiresInAnUpgrade: the upgrade stops before the next member would not come back, and goes on once the
// certificate is renewed.
func TestCertificateExpiresInAnUpgrade(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
	w.OnStep("restart basic-tikv-1", func() { w.expireFor(tikv, 1800) })
	w.Upgrade("v2")
	if p, err := w.Drive(20 * time.Minute); err == nil && p.Outcome == plan.Converged {
		t.Errorf("the upgrade goes on\n%s", w.Transcript())
	}
	if w.pods[tikv][0].revision != w.sets[tikv].current || inTranscript(w, "restart basic-tikv-0") {
		t.Errorf("%s was restarted\n%s", w.cluster.PodName(topology.TiKV, 0), w.Transcript())
	}
	w.Pass(1800)
	fine(t, w)
	inOrder(t, w, "restart basic-tikv-1", "is renewed at", "restart basic-tikv-0", "restart basic-tidb-1")
}

package wire

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestEncrypted: members speak TLS. The cluster is created with certificates, upgraded, scaled, and its certificates are
// renewed.
func TestEncrypted(t *testing.T) {
	encrypted(t, func(t *testing.T, w *World) {
		w.Must(t, 0, "upgrade", "basic", "v8.1.1", "--yes")
		w.Must(t, 0, "scale", "basic", "tikv=4", "--yes")
		w.Must(t, 0, "tls", "rotate", "basic", "--yes")
		w.Must(t, 0, "scale", "basic", "tikv=3", "--yes")
	})
}

// TestLeaderThatRefusesOurCertificate: PD's leader accepts no certificate of ours any more, as in the middle of a change
// of the authority, while the other members of PD do. PD has a leader, so nothing of PD is restarted.
func TestLeaderThatRefusesOurCertificate(t *testing.T) {
	encrypted(t, func(t *testing.T, w *World) {
		w.leaveDue(t, "upgrade", "basic", "v8.1.1")
		w.distrusting = []member{{topology.PD, w.leader()}}
		text, writes := w.attempt(t, 3*time.Minute, "sync", "basic", "--yes")
		wantText(t, text, "cannot be reached from here")
		wantNone(t, writes, "DELETE", pods)
		wantNone(t, writes, "DELETE", "/members/")
		w.distrusting = nil
		w.Must(t, 0, "sync", "basic", "--yes")
	})
}

func encrypted(t *testing.T, script func(t *testing.T, w *World)) {
	t.Helper()
	Run(t, sim.Options{Seed: 1, PD: 3, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.encrypt()
		defer w.transcript(t)
		w.created(t)
		script(t, w)
		w.wantUnbroken(t)
	})
}

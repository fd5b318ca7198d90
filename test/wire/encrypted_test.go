package wire

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
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

// TestEncryptedSpare: the certificates that are made are for a spare store too. A certificate that lists its stores is not
// for a further one, so that neither a spare store nor a larger number of stores is asked for.
func TestEncryptedSpare(t *testing.T) {
	encrypted(t, func(t *testing.T, w *World) {
		w.Must(t, 0, "replace", "basic", "tikv-1", "--spare", "--yes")
		w.listStores(t)
		for _, args := range [][]string{{"replace", "basic", "tikv-1", "--spare", "--yes"}, {"scale", "basic", "tikv=4", "--yes"}} {
			text, writes := w.attempt(t, time.Minute, args...)
			wantText(t, text, "is not for basic-tikv-3.basic-tikv-peer.db.svc, by which members are called")
			wantText(t, text, "kubectl tidb tls rotate basic")
			wantNone(t, writes, "PATCH", "tidbclusters")
		}
		w.Must(t, 0, "tls", "rotate", "basic", "--yes")
		w.Must(t, 0, "replace", "basic", "tikv-1", "--spare", "--yes")
	})
}

// listStores writes a certificate of TiKV that lists the stores that there are.
func (w *World) listStores(t *testing.T) {
	t.Helper()
	secrets := schema.GroupResource{Resource: "secrets"}
	read := func(name string) *corev1.Secret {
		return w.api.Get(secrets, w.cluster.Namespace, name).DeepCopyObject().(*corev1.Secret)
	}
	authority, err := issue.ParseAuthority(read(w.cluster.AuthoritySecret(topology.MembersCircle)).Data)
	if err != nil {
		t.Fatal(err)
	}
	next := read(w.cluster.MemberSecret(topology.TiKV))
	listed := topology.Certificate{Secret: next.Name, Server: true, Client: true}
	for n := range 3 {
		listed.Names = append(listed.Names, w.cluster.PodHost(topology.TiKV, n))
	}
	if next.Data, err = authority.Issue(listed, issue.CommonName, time.Now(), 365*24*time.Hour); err != nil {
		t.Fatal(err)
	}
	w.api.Put(secrets, next)
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

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTLS takes a cluster with TLS everywhere through its life, with a client that writes over TLS all
// the time: real PD and TiDB, which verify each other's certificates, and stores that do so too. It runs alone, since
// no write may fail: beside other clusters a client waits for 10 to 20 s now and then on two processors, and gives up.
func TestTLS(t *testing.T) {
	s := newEnvironment(t, "e2e-tls")
	s.sql.TLS = true
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	step("no certificates", s.uncertified)
	step("create", func(t *testing.T) {
		s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tls")
		s.wantConverged(t, 3, 3, 2, from)
		s.tidb(t, 0, "tls", "check", cluster)
	})
	account := s.written(t, "tls", func(db *sql.DB) {
		var name, cipher string
		if err := db.QueryRowContext(t.Context(), "SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher); err != nil || cipher == "" {
			t.Errorf("the client writes without TLS: %q, %v", cipher, err)
		}
		step("scale", func(t *testing.T) {
			s.tidb(t, 0, "scale", cluster, "tikv=4")
			s.wantConverged(t, 3, 4, 2, from)
		})
		step("upgrade", func(t *testing.T) {
			s.tidb(t, 0, "upgrade", cluster, to)
			s.wantConverged(t, 3, 4, 2, to)
		})
		step("renewed certificates", func(t *testing.T) { s.tidb(t, 0, "tls", "rotate", cluster) })
		step("another authority, interrupted", func(t *testing.T) {
			before := s.authority(t)
			s.tidb(t, 4, "tls", "rotate", cluster, "--ca", "--timeout", "20s")
			s.tidb(t, 0, "tls", "rotate", cluster, "--ca")
			if s.authority(t) == before {
				t.Error("the authority is the old one")
			}
			s.tidb(t, 0, "tls", "check", cluster)
			s.wantConverged(t, 3, 4, 2, to)
		})
		step("a certificate of others", s.wrongCertificate)
	})
	if len(account.Failed) > 0 {
		t.Errorf("%d writes failed, the first: %v", len(account.Failed), account.Failed[0])
	}
	step("first password", func(t *testing.T) {
		s.patchCluster(t, `{"spec":{"tidb":{"initializer":{"createPassword":true}}}}`)
		s.tidb(t, 0, "sync", cluster)
		s.wantFirstPassword(t)
	})
}

// uncertified: without certificates nothing is made, and the error says how to have them made.
func (s environment) uncertified(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tls.yaml")
	spec := "  tlsCluster: {enabled: true}\n  pd: {replicas: 3, requests: {storage: 1Gi}}"
	if err := os.WriteFile(file, []byte(manifest(spec)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.tidb(t, 3, "apply", "-f", file)
	if !strings.Contains(r.Stderr, "Secret basic-pd-cluster-secret does not exist") || !strings.Contains(r.Stderr, "kubectl tidb tls init basic -n e2e-tls") {
		t.Errorf("stderr: %s", r.Stderr)
	}
	if list, err := s.clusters().List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("%d TidbClusters, %v", len(list.Items), err)
	}
}

// clientTLS is the configuration of a client of members.
func (s environment) clientTLS() *tls.Config {
	got, err := s.Kube.CoreV1().Secrets(s.plugin.Namespace).Get(context.Background(), cluster+"-cluster-client-secret", metav1.GetOptions{})
	if err != nil {
		return nil // then PD takes no connection
	}
	pair, err := tls.X509KeyPair(got.Data["tls.crt"], got.Data["tls.key"])
	if err != nil {
		return nil
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(got.Data["ca.crt"])
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
}

// authority is what members trust.
func (s environment) authority(t *testing.T) string {
	t.Helper()
	return string(s.secret(t, cluster+"-tikv-cluster-secret").Data["ca.crt"])
}

func (s environment) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	got, err := s.Kube.CoreV1().Secrets(s.plugin.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// wrongCertificate: with a certificate that the others do not trust no store restarts.
func (s environment) wrongCertificate(t *testing.T) {
	const name = cluster + "-tikv-cluster-secret"
	right := s.secret(t, name).Data
	put := func(data map[string][]byte) {
		is := s.secret(t, name)
		is.Data = data
		if _, err := s.Kube.CoreV1().Secrets(s.plugin.Namespace).Update(t.Context(), is, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	before := s.podUIDs(t)
	put(s.secret(t, cluster+"-tidb-server-secret").Data)
	r := s.tidb(t, 3, "restart", cluster, "tikv", "--timeout", "1m")
	if !strings.Contains(r.Stderr, name) || !strings.Contains(r.Stderr, "is not for") {
		t.Errorf("stderr: %s", r.Stderr)
	}
	s.tidb(t, 3, "tls", "check", cluster)
	s.wantSamePods(t, before)
	put(right)
	s.tidb(t, 0, "sync", cluster)
	s.tidb(t, 0, "tls", "check", cluster)
}

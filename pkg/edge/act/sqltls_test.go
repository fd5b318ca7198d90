package act

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

// shown has a client connect to a server with a certificate, and returns what the client presents.
func shown(t *testing.T, server tls.Certificate, client *tls.Config) (certificates int, err error) {
	t.Helper()
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	answered := make(chan int)
	go func() {
		defer close(answered)
		s := tls.Server(there, &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequestClientCert})
		if s.Handshake() == nil {
			answered <- len(s.ConnectionState().PeerCertificates)
		}
	}()
	c := tls.Client(here, client)
	if err := c.Handshake(); err != nil {
		here.Close()
		<-answered
		return 0, err
	}
	return <-answered, nil
}

// tidb-B25: the password goes to a server with a certificate of the cluster only.
func TestSQLTLS(t *testing.T) {
	own, err := issue.NewAuthority("own", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other, err := issue.NewAuthority("other", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	content := func(a issue.Authority, names ...string) map[string][]byte {
		data, err := a.Issue(topology.Certificate{Names: names, Server: true, Client: true}, "TiDB", time.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	secret := func(name string, data map[string][]byte) runtime.Object {
		return &corev1.Secret{ObjectMeta: owned(name, topology.TiDB), Data: data}
	}
	without := func(data map[string][]byte) map[string][]byte { delete(data, topology.KeyCA); return data }
	const host, server, client = "basic-tidb-1.basic-tidb-peer.db.svc", "basic-tidb-server-secret", "basic-tidb-client-secret"
	t.Run("tidb-B25", func(t *testing.T) {
		for name, tt := range map[string]struct {
			shows   map[string][]byte
			secrets []runtime.Object
			clients int
			says    string
		}{
			"it names the pods":             {content(own, "*.basic-tidb-peer.db.svc"), []runtime.Object{secret(server, content(own))}, 0, ""},
			"it names the Service":          {content(own, "basic-tidb.db.svc"), []runtime.Object{secret(server, content(own))}, 0, ""},
			"it names another cluster":      {content(own, "other-tidb.db.svc"), []runtime.Object{secret(server, content(own))}, 0, "not " + host},
			"it is of others":               {content(other, host), []runtime.Object{secret(server, content(own))}, 0, "unknown authority"},
			"clients have a certificate":    {content(own, host), []runtime.Object{secret(server, content(own)), secret(client, content(own))}, 1, ""},
			"only clients have authorities": {content(own, host), []runtime.Object{secret(server, without(content(own))), secret(client, content(own))}, 1, ""},
			"either may be the new one":     {content(other, host), []runtime.Object{secret(server, content(own)), secret(client, content(other))}, 1, ""},
			"there are no Secrets":          {content(own, host), nil, 0, "x509"},
		} {
			t.Run(name, func(t *testing.T) {
				w := newFixture(t, tt.secrets...)
				w.cluster.TLS.SQL = true
				config, err := w.sqlTLS(t.Context(), host)
				if err != nil {
					t.Fatal(err)
				}
				pair, err := tls.X509KeyPair(tt.shows[topology.KeyCertificate], tt.shows[topology.KeyPrivate])
				if err != nil {
					t.Fatal(err)
				}
				n, err := shown(t, pair, config)
				if n != tt.clients || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%d certificates of clients, %v", n, err)
				}
			})
		}
	})
	w := newFixture(t)
	if config, err := w.sqlTLS(t.Context(), host); config != nil || err != nil {
		t.Errorf("without TLS: %v, %v", config, err)
	}
	w = newFixture(t, secret(client, map[string][]byte{topology.KeyCertificate: []byte("x")}))
	w.cluster.TLS.SQL = true
	if _, err := w.sqlTLS(t.Context(), host); err == nil || !strings.Contains(err.Error(), client) {
		t.Errorf("a certificate that cannot be read: %v", err)
	}
}

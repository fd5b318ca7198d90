package kubeapi

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/pki"
)

// serve starts a server with certificates as the node issues them, which also shows that those are good.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	folder := t.TempDir()
	authority, err := pki.NewAuthority(folder)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		authority.Issue(pki.Identity{File: "server", User: "server", IPs: []string{"127.0.0.1"}}),
		authority.Issue(pki.Identity{File: "admin", User: "somebody", Groups: []string{"system:masters"}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.LoadX509KeyPair(pki.Certificate(folder, "server"), pki.Key(folder, "server"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	content, err := os.ReadFile(pki.Certificate(folder, pki.AuthorityName))
	if err != nil {
		t.Fatal(err)
	}
	roots.AppendCertsFromPEM(content)
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	client, err := New(server.URL, folder, "admin", nil)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestCallIdentifiesItselfAndDecodes(t *testing.T) {
	client := serve(t, func(out http.ResponseWriter, in *http.Request) {
		subject := in.TLS.PeerCertificates[0].Subject
		var body map[string]string
		_ = json.NewDecoder(in.Body).Decode(&body)
		fmt.Fprintf(out, `{"who":%q,"group":%q,"said":%q}`, subject.CommonName, subject.Organization[0], body["word"])
	})
	var answer struct{ Who, Group, Said string }
	err := client.Call(t.Context(), http.MethodPost, "/x", map[string]string{"word": "hello"}, &answer)
	if err != nil || answer.Who != "somebody" || answer.Group != "system:masters" || answer.Said != "hello" {
		t.Errorf("answer %+v, error %v", answer, err)
	}
}

func TestCallReportsTheStatus(t *testing.T) {
	client := serve(t, func(out http.ResponseWriter, _ *http.Request) {
		http.Error(out, "no such thing", http.StatusNotFound)
	})
	err := client.Call(t.Context(), http.MethodGet, "/x", nil, nil)
	status := new(StatusError)
	if !errors.As(err, &status) || status.Code != http.StatusNotFound || status.Message != "no such thing" {
		t.Errorf("error is %v", err)
	}
}

func TestWatchDeliversEvents(t *testing.T) {
	client := serve(t, func(out http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(out, `{"type":"ADDED","object":{"a":1}}{"type":"DELETED","object":{"a":2}}`)
	})
	var kinds []string
	err := client.Watch(t.Context(), "/x", func(kind string, _ json.RawMessage) { kinds = append(kinds, kind) })
	if err == nil || !slices.Equal(kinds, []string{"ADDED", "DELETED"}) {
		t.Errorf("events %v, error %v", kinds, err)
	}
}

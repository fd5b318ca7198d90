package observe

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// TestProxyWithTheCertificateOfAnother: a TiProxy that shows a certificate without its own name, of an authority that
// nobody trusts, still says that it serves.
func TestProxyWithTheCertificateOfAnother(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	defer server.Close()
	c := basic
	c.TLS.Members = true
	members := []state.Member{{Kind: topology.TiProxy, Name: "basic-tiproxy-0", Pod: &state.Pod{Started: noon}}}
	dialer := &network{to: server.Listener.Addr().String()}
	o := New(fake.NewClientset(), dial.Any(dialer), nil, time.Now)
	defer o.Close()
	o.identify(c, credentials{})
	o.askProxies(t.Context(), c, members)
	if d := members[0].Database; !d.Healthy || !dialer.reached("basic-tiproxy-0.basic-tiproxy-peer.db.svc:3080") {
		t.Errorf("%+v, dialed %q", d, dialer.dialed)
	}
}

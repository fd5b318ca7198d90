package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// refusing returns a kubeconfig of an API server that answers 502 to requests of one path, as it does when it cannot
// reach a kubelet. All other requests go to the real one.
func refusing(t *testing.T, config *rest.Config, path string) (kubeconfig string) {
	t.Helper()
	upstream, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	real := httputil.NewSingleHostReverseProxy(upstream)
	plain := rest.CopyConfig(config)
	plain.NextProtos = []string{"http/1.1"} // a tunnel is an upgrade, which HTTP/2 does not have
	if real.Transport, err = rest.TransportFor(plain); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, path) {
			http.Error(w, "error dialing backend: connection refused", http.StatusBadGateway)
			return
		}
		real.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	file := clientcmdapi.NewConfig()
	file.Clusters["cut"] = &clientcmdapi.Cluster{Server: server.URL}
	file.Contexts["cut"] = &clientcmdapi.Context{Cluster: "cut"}
	file.CurrentContext = "cut"
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, kubeconfig); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

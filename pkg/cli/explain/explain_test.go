package explain

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// get returns the error of a real request.
func get(t *testing.T, client *http.Client, address string) error {
	t.Helper()
	response, err := client.Get(address)
	if err == nil {
		response.Body.Close()
		t.Fatalf("%s answered", address)
	}
	return fmt.Errorf("list tidbclusters: %w", err)
}

func TestError(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = nil
	open := httptest.NewServer(http.NotFoundHandler())
	defer open.Close()
	namespaces := schema.GroupResource{Resource: "namespaces"}
	for _, c := range []struct {
		name string
		err  error
		says []string
	}{
		{"refused", get(t, http.DefaultClient, "http://127.0.0.1:1/apis/x"), []string{"cannot reach the API server http://127.0.0.1:1:", "connection refused", "kubectl config view"}},
		{"no such host", get(t, http.DefaultClient, "https://nothing.invalid:6443/x"), []string{"cannot reach the API server https://nothing.invalid:6443"}},
		{"certificate", get(t, http.DefaultClient, secure.URL), []string{"certificate of the API server " + secure.URL, "certificate-authority"}},
		{"no TLS", get(t, http.DefaultClient, strings.Replace(open.URL, "http:", "https:", 1)), []string{"does not speak HTTPS"}},
		{"login", &url.Error{Op: "Get", URL: "https://k:1/x", Err: errors.New("getting credentials: exec: no such program")}, []string{"credentials for the API server https://k:1", "no such program"}},
		{"unauthorized", apierrors.NewUnauthorized("Unauthorized"), []string{"Unauthorized", "log in"}},
		{"namespace", apierrors.NewNotFound(namespaces, "x"), []string{`namespaces "x" not found`, "kubectl create namespace"}},
		{"another", errors.New("broken"), []string{"broken"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Error(c.err)
			for _, s := range c.says {
				if !strings.Contains(got.Error(), s) {
					t.Errorf("%q does not say %q", got, s)
				}
			}
			if !errors.Is(got, c.err) {
				t.Errorf("%v is not the error it explains any more", got)
			}
			if strings.Contains(got.Error(), "/apis/") {
				t.Errorf("%q has an address that is of no help", got)
			}
		})
	}
	if Error(nil) != nil {
		t.Error("no error became one")
	}
}

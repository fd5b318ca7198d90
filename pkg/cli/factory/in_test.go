package factory

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestIn: another context has all flags of the command line but those that name a single cluster or its user. Credentials
// of one API server are not sent to another.
func TestIn(t *testing.T) {
	f := home(t, kubeconfig+"current-context: prod")
	own := []string{
		"Context", "ClusterName", "APIServer",
		"AuthInfoName", "TLSServerName", "CAFile", "CertFile", "KeyFile", "BearerToken", "Username", "Password",
	}
	other := f.In("staging", genericiooptions.NewTestIOStreamsDiscard())
	from, to := reflect.ValueOf(f.Flags).Elem(), reflect.ValueOf(other.Flags).Elem()
	for i := range from.NumField() {
		field := from.Type().Field(i)
		if !field.IsExported() || field.Type.Kind() != reflect.Pointer || from.Field(i).IsNil() {
			continue
		}
		same := from.Field(i).Pointer() == to.Field(i).Pointer()
		if same == slices.Contains(own, field.Name) {
			t.Errorf("flag %s is that of the command line: %t", field.Name, same)
		}
	}
	if got := other.Context(); got != "staging" || f.Context() != "prod" {
		t.Errorf("contexts %s and %s", got, f.Context())
	}
	if ns, err := other.Namespace(); ns != "db" || err != nil {
		t.Errorf("namespace %q, %v", ns, err)
	}
	*f.Flags.Namespace = "given"
	if ns, err := f.In("staging", genericiooptions.NewTestIOStreamsDiscard()).Namespace(); ns != "given" || err != nil {
		t.Errorf("-n: namespace %q, %v", ns, err)
	}
}

// TestAnswerWithin: the limit is for each request, also where the server has answered before.
func TestAnswerWithin(t *testing.T) {
	over := make(chan struct{})
	var asked atomic.Int32
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	defer api.Close()
	defer close(over)
	f := home(t, strings.Replace(kubeconfig, "https://k.example:6443", api.URL, 1)+"current-context: prod")
	if got := f.AnswerWithin(50 * time.Millisecond); got != 50*time.Millisecond || f.Answered() {
		t.Errorf("limit %s, answered %t", got, f.Answered())
	}
	kube, err := f.Kube()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kube.Discovery().ServerVersion(); err == nil || !f.Answered() {
		t.Errorf("answered %t: %v", f.Answered(), err)
	}
	if _, err := kube.Discovery().ServerVersion(); err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("a server that does not answer any more: %v", err)
	}
	*f.Flags.Timeout = "3s"
	if got := f.AnswerWithin(time.Minute); got != 3*time.Second {
		t.Errorf("--request-timeout: limit %s", got)
	}
}

// TestKubeconfigFiles: all files of KUBECONFIG are read.
func TestKubeconfigFiles(t *testing.T) {
	f := home(t, kubeconfig)
	second := filepath.Join(t.TempDir(), "second")
	if err := os.WriteFile(second, []byte("apiVersion: v1\nkind: Config\ncontexts: [{name: more, context: {cluster: c}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", os.Getenv("KUBECONFIG")+string(filepath.ListSeparator)+second)
	raw, err := f.Kubeconfig()
	if err != nil || len(raw.Contexts) != 4 || raw.Contexts["more"] == nil {
		t.Errorf("%v, %v", raw.Contexts, err)
	}
	if _, err := home(t, "{").Kubeconfig(); err == nil || !strings.Contains(err.Error(), "load kubeconfig") {
		t.Errorf("a kubeconfig that cannot be read: %v", err)
	}
}

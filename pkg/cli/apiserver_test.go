package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/telemetry/logs"
)

// TestMain redirects klog before anything logs. Goroutines of a command may end after the command, and read at that time
// where klog logs, while the next command redirects klog.
func TestMain(m *testing.M) {
	quiet()
	nowhere, err := logs.New("text", io.Discard)
	if err != nil {
		panic(err)
	}
	nowhere.TakeOver()
	m.Run()
}

// result is the result of a command line.
type result struct {
	code     int
	out, err string
}

// call runs a command line in this process, without a kubeconfig.
func call(ctx context.Context, t *testing.T, args ...string) result {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBERNETES_MASTER", "")
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	code := run(ctx, args, streams, func(string) string { return "" })
	return result{code, out.String(), errOut.String()}
}

// apiServer answers as Kubernetes does: with objects by their path, which may have a method before
// it, and for other paths with an error of the API.
type apiServer struct {
	*httptest.Server
	answers map[string]any

	mu     sync.Mutex
	log    []string
	urls   []string
	bodies []string // of PATCH requests, without dry runs
}

const tidbclusters = "/apis/pingcap.com/v1alpha1/namespaces/default/tidbclusters"

// discovery returns what an API server answers about the resources that it serves, besides objects.
func discovery(answers map[string]any) map[string]any {
	resource := func(name, kind string, namespaced bool) metav1.APIResource {
		return metav1.APIResource{Name: name, Kind: kind, Namespaced: namespaced, Verbs: metav1.Verbs{"get", "list", "watch"}}
	}
	group := metav1.GroupVersionForDiscovery{GroupVersion: "pingcap.com/v1alpha1", Version: "v1alpha1"}
	all := map[string]any{
		"/api": metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
		"/api/v1": metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
			resource("namespaces", "Namespace", false), resource("pods", "Pod", true), resource("persistentvolumeclaims", "PersistentVolumeClaim", true), resource("secrets", "Secret", true),
		}},
		"/apis": metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{{
			Name: "pingcap.com", Versions: []metav1.GroupVersionForDiscovery{group}, PreferredVersion: group,
		}}},
		"/apis/pingcap.com/v1alpha1": metav1.APIResourceList{
			GroupVersion: group.GroupVersion, APIResources: []metav1.APIResource{resource("tidbclusters", "TidbCluster", true)},
		},
	}
	maps.Copy(all, answers)
	return all
}

func serve(t *testing.T, answers map[string]any) *apiServer {
	s := &apiServer{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.log = append(s.log, r.Method+" "+r.URL.Path)
	s.urls = append(s.urls, r.Method+" "+r.URL.RequestURI())
	if r.Method == http.MethodPatch && r.URL.Query().Get("dryRun") == "" {
		body, _ := io.ReadAll(r.Body)
		s.bodies = append(s.bodies, string(body))
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	got, ok := s.answers[r.Method+" "+r.URL.Path]
	if !ok {
		got, ok = s.answers[r.URL.Path]
	}
	if !ok {
		got = apierrors.NewNotFound(schema.GroupResource{Resource: "tidbclusters"}, filepath.Base(r.URL.Path))
	}
	if failed, is := got.(*apierrors.StatusError); is {
		failed.ErrStatus.APIVersion, failed.ErrStatus.Kind = "v1", "Status"
		w.WriteHeader(int(failed.ErrStatus.Code))
		got = failed.ErrStatus
	}
	_ = json.NewEncoder(w).Encode(got)
}

// requests returns the requests so far, with their queries.
func (s *apiServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.urls)
}

// patches returns the bodies of what was written so far.
func (s *apiServer) patches() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.bodies, "\n")
}

// asked returns the requests so far.
func (s *apiServer) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// call runs a command line against the server.
func (s *apiServer) call(t *testing.T, args ...string) result {
	t.Helper()
	return call(t.Context(), t, append([]string{"--server", s.URL}, args...)...)
}

func tidbcluster(name string) map[string]any {
	return map[string]any{
		"apiVersion": "pingcap.com/v1alpha1", "kind": "TidbCluster",
		"metadata": map[string]any{"namespace": "default", "name": name, "uid": "1", "resourceVersion": "1"},
		"spec": map[string]any{
			"version": "v8.1.0",
			"pd":      map[string]any{"baseImage": "pingcap/pd", "replicas": 3, "requests": map[string]any{"storage": "1Gi"}},
			"tikv":    map[string]any{"baseImage": "pingcap/tikv", "replicas": 3, "requests": map[string]any{"storage": "1Gi"}},
		},
	}
}

// clusterList returns the list of these clusters, as a server with the definition of TidbCluster
// returns it.
func clusterList(items ...map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "pingcap.com/v1alpha1", "kind": "TidbClusterList",
		"metadata": metav1.ListMeta{ResourceVersion: "1"}, "items": append([]map[string]any{}, items...),
	}
}

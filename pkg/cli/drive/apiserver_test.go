package drive

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

// apiServer is an API server in memory, as far as a run needs one: it keeps objects by their path, and
// returns all of a collection whatever is selected. Watches are open until their request ends, and show
// nothing. It counts requests.
type apiServer struct {
	mu      sync.Mutex
	objects map[string]map[string]any
	version int
	log     []string
}

// synced is the event after which a watch has shown all objects that there are.
const synced = `{"type": "BOOKMARK", "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
	"metadata": {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}}}` + "\n"

// factory returns a factory whose clients use the server.
func (s *apiServer) factory() *factory.Factory {
	streams := genericiooptions.NewTestIOStreamsDiscard()
	f := factory.New(streams, func(string) string { return "" }, "test")
	host := "http://api"
	f.Flags.APIServer = &host
	f.Flags.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.Transport, c.ContentType = s, runtime.ContentTypeJSON
		return c
	}
	return f
}

// RoundTrip implements http.RoundTripper.
func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	watch := r.URL.Query().Get("watch") != ""
	what := r.Method + " " + r.URL.Path
	if watch {
		what = "WATCH " + r.URL.Path
	}
	s.log = append(s.log, what)
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	if watch {
		read, write := io.Pipe()
		go func() {
			_, _ = io.WriteString(write, synced)
			<-r.Context().Done()
			_ = write.CloseWithError(r.Context().Err())
		}()
		answer.Body = read
		return answer, nil
	}
	got := s.answer(r)
	if got == nil {
		answer.StatusCode = http.StatusNotFound
		got = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
	}
	body, err := json.Marshal(got)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, err
}

func (s *apiServer) answer(r *http.Request) map[string]any {
	var sent map[string]any
	if r.Body != nil {
		_ = json.NewDecoder(r.Body).Decode(&sent)
	}
	at := strings.TrimSuffix(r.URL.Path, "/status")
	have := s.objects[at]
	switch r.Method {
	case http.MethodPost:
		return s.write(path.Join(at, sent["metadata"].(map[string]any)["name"].(string)), sent)
	case http.MethodPut:
		return s.write(at, sent)
	case http.MethodPatch:
		return s.write(at, merged(have, sent))
	}
	if have != nil || slices.Contains(strings.Split(at, "/"), "deployments") || isName(path.Base(at)) {
		return have
	}
	items := []any{}
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		if path.Dir(name) == at {
			items = append(items, s.objects[name])
		}
	}
	parts := strings.Split(at, "/") // /api/<version>/..., or /apis/<group>/<version>/...
	version := parts[2]
	if parts[1] == "apis" {
		version += "/" + parts[3]
	}
	return map[string]any{
		"kind": kinds[path.Base(at)] + "List", "apiVersion": version, "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
	}
}

// kinds are those of the collections that a run lists.
var kinds = map[string]string{
	"services": "Service", "configmaps": "ConfigMap", "statefulsets": "StatefulSet", "pods": "Pod",
	"persistentvolumeclaims": "PersistentVolumeClaim", "leases": "Lease",
}

// isName reports whether the last part of a path is the name of an object, not a collection.
func isName(last string) bool { return strings.Contains(last, "-") }

func (s *apiServer) write(at string, o map[string]any) map[string]any {
	s.version++
	meta := o["metadata"].(map[string]any)
	meta["resourceVersion"] = strconv.Itoa(s.version)
	if meta["uid"] == nil {
		meta["uid"] = at
	}
	s.objects[at] = o
	return o
}

// merged applies a merge patch.
func merged(have, patch map[string]any) map[string]any {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range patch {
		inner, nested := value.(map[string]any)
		switch before, _ := out[key].(map[string]any); {
		case value == nil:
			delete(out, key)
		case nested:
			out[key] = merged(before, inner)
		default:
			out[key] = value
		}
	}
	return out
}

// put makes an object.
func (s *apiServer) put(t *testing.T, at, text string) {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(at, o)
}

// requests returns the requests since the last call.
func (s *apiServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

package main

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/test/wire/kubernetes"
)

func namespaceOf(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
}

// alone returns a handler that is used by one goroutine at a time. A client that sends or reads slowly keeps nobody
// waiting.
func (w *world) alone(h http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		a := &answer{header: http.Header{}, code: http.StatusOK}
		func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			h.ServeHTTP(a, r)
		}()
		a.send(out)
	})
}

// answer keeps what a handler writes.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(code int)        { a.code = code }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

func (a *answer) send(out http.ResponseWriter) {
	for key, values := range a.header {
		out.Header()[key] = values
	}
	out.WriteHeader(a.code)
	_, _ = out.Write(a.body.Bytes())
}

// handler returns the API server with the requests of command try.
func (w *world) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+control, w.alone(http.HandlerFunc(w.controlled)))
	mux.HandleFunc("/", w.serveAPI)
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		sent := []byte(r.Header.Get("Authorization"))
		if subtle.ConstantTimeCompare(sent, []byte("Bearer "+w.token)) != 1 {
			refuse(out, apierrors.NewUnauthorized("the kubeconfig is that of another run"))
			return
		}
		mux.ServeHTTP(out, r)
	})
}

// serveAPI answers as the API server.
func (w *world) serveAPI(out http.ResponseWriter, r *http.Request) {
	w.date(out)
	_, subresource, _ := strings.Cut(r.URL.Path, "/pods/")
	_, subresource, _ = strings.Cut(subresource, "/")
	switch {
	case subresource == "portforward":
		if err := w.kubelet(); err != nil {
			refuse(out, err)
			return
		}
	case subresource == "log":
		_, _ = io.WriteString(out, "this is a model of a cluster: its processes write no log\n")
		return
	case subresource == "exec", subresource == "attach":
		refuse(out, apierrors.NewBadRequest("this is a model of a cluster: nothing can be run in its containers"))
		return
	case r.Method == http.MethodGet && discovered(out, r):
		return
	case r.Method != http.MethodGet:
		w.alone(http.HandlerFunc(w.write)).ServeHTTP(out, r)
		return
	}
	w.api.ServeHTTP(out, r) // the API server locks what it reads
}

// date sets the time of an answer by the clock of the model.
func (w *world) date(out http.ResponseWriter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out.Header().Set("Date", w.model.Now().UTC().Format(http.TimeFormat))
}

// kubelet returns the error with which the API server answers when it reaches no kubelet.
func (w *world) kubelet() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return apierrors.NewInternalError(errors.New("error dialing backend: No agent available"))
	}
	return nil
}

// write carries out a request that may change something, and tells the model.
func (w *world) write(out http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // it is in memory
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err := w.refusal(r, body); err != nil {
		refuse(out, err)
		return
	}
	w.api.ServeHTTP(out, r)
	w.kube.Written()
	w.kube.Show()
}

// refusal returns why the world does not take what a request writes, nil if it does.
func (w *world) refusal(r *http.Request, body []byte) error {
	sets := schema.GroupResource{Group: "apps", Resource: "statefulsets"}
	if strings.Contains(r.URL.Path, "/statefulsets") && r.Method != http.MethodDelete && w.denied != "" {
		return apierrors.NewForbidden(sets, "", errors.New(w.denied))
	}
	if strings.Contains(r.URL.Path, "/customresourcedefinitions") {
		return apierrors.NewBadRequest("this is a model, which has TidbClusters already: init is not needed")
	}
	before, after, ok := strings.Cut(r.URL.Path, "/tidbclusters")
	if !ok || r.Method == http.MethodDelete {
		return nil
	}
	var tc struct {
		Metadata metav1.ObjectMeta
		Spec     map[string]any
	}
	_ = json.Unmarshal(body, &tc) // the API server says what is wrong with what is not JSON
	name, _, _ := strings.Cut(strings.TrimPrefix(after, "/"), "/")
	if name == "" {
		name = tc.Metadata.Name
	}
	if name != kubernetes.Name || !strings.HasSuffix(before, "/namespaces/"+kubernetes.Namespace) {
		return apierrors.NewBadRequest("this is a model with one cluster: call it " + kubernetes.Name + ", in namespace " + kubernetes.Namespace)
	}
	for _, field := range []string{"tiflash", "ticdc", "tiproxy", "pump", "tlsCluster"} {
		if tc.Spec[field] != nil {
			return apierrors.NewBadRequest("this is a model of PD, TiKV and TiDB without TLS: leave spec." + field + " out")
		}
	}
	return nil
}

// refuse answers with an error of the API server.
func refuse(out http.ResponseWriter, err error) {
	status := apierrors.NewInternalError(err).ErrStatus
	if known, ok := errors.AsType[*apierrors.StatusError](err); ok {
		status = known.ErrStatus
	}
	status.APIVersion, status.Kind = "v1", "Status"
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(int(status.Code))
	_ = json.NewEncoder(out).Encode(status)
}

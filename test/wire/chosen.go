package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// holding returns a handler that requests reach when what they are held by has ended.
func (w *World) holding(h http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if w.Faults.Held != nil {
			if until := w.Faults.Held(r); until != nil {
				<-until
			}
		}
		h.ServeHTTP(out, r)
	})
}

// denying returns a handler of an API server that forbids some requests, and changes what others write.
func (w *World) denying(h http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if w.Faults.Admitted != nil && strings.Contains(r.URL.Path, "/statefulsets") && (r.Method == http.MethodPost || r.Method == http.MethodPut) {
			r.Body = admitted(r.Body, w.Faults.Admitted)
		}
		if w.Faults.Denied != nil {
			if why := w.Faults.Denied(r); why != "" {
				deny(out, why)
				return
			}
		}
		h.ServeHTTP(out, r)
	})
}

// admitted returns the body of a request with a StatefulSet as a webhook leaves it.
func admitted(body io.Reader, change func(*appsv1.StatefulSet)) io.ReadCloser {
	sent, err := io.ReadAll(body)
	if err != nil {
		panic("wire: read a StatefulSet: " + err.Error())
	}
	obj, kind, err := scheme.Codecs.UniversalDeserializer().Decode(sent, nil, nil) // client-go sends protobuf
	if err != nil {
		panic("wire: decode a StatefulSet: " + err.Error())
	}
	set := obj.(*appsv1.StatefulSet)
	set.SetGroupVersionKind(*kind)
	change(set)
	next, err := json.Marshal(set)
	if err != nil {
		panic("wire: encode a StatefulSet: " + err.Error())
	}
	return io.NopCloser(bytes.NewReader(next))
}

// deny answers as an API server does that forbids a request.
func deny(out http.ResponseWriter, why string) {
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(http.StatusForbidden)
	_ = json.NewEncoder(out).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusForbidden,
		Reason: metav1.StatusReasonForbidden, Message: why,
	})
}

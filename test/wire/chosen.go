package wire

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// denying returns a handler of an API server that forbids some requests.
func (w *World) denying(h http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if w.Faults.Denied != nil {
			if why := w.Faults.Denied(r); why != "" {
				deny(out, why)
				return
			}
		}
		h.ServeHTTP(out, r)
	})
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

package wire

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Faults are what happens on the way between a command and what it asks, as odds for each request. Faults of the world
// itself are those of the model.
type Faults struct {
	Refused float64 // the server answers that it cannot, and does nothing
	Lost    float64 // the server does what it was asked, and the connection ends with the first bytes of the answer
	Slow    float64 // the request takes up to ten seconds to arrive
	Behind  float64 // the API server sends the events of a watch up to a minute late, as from a cache that is behind
	// Asleep: the process is suspended before a request that writes to the API server, for minutes or hours, and ends
	// then.
	Asleep float64

	// Held says what a request to the API server waits for on its way, nil for nothing.
	Held func(*http.Request) <-chan struct{}
	// Denied says why the API server forbids a request, "" where it does not.
	Denied func(*http.Request) string
	// Admitted is a webhook that changes each StatefulSet that is written.
	Admitted func(*appsv1.StatefulSet)
}

// longest is how long a slow request takes at most.
const longest = 10 * time.Second

// furthest is how far a cache of the API server is behind at most.
const furthest = time.Minute

// failing returns a handler whose requests fail with the odds of the world's faults.
func (w *World) failing(h http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		switch roll := w.chance; {
		case roll < w.Faults.Refused:
			w.requests = append(w.requests, Request{At: time.Now(), Server: r.Host, What: "refused: " + r.Method + " " + r.URL.RequestURI()})
			refuse(out, r, w.chance/w.Faults.Refused)
		case roll < w.Faults.Refused+w.Faults.Lost:
			h.ServeHTTP(httptest.NewRecorder(), r)
			panic(errLost)
		case roll < w.Faults.Refused+w.Faults.Lost+w.Faults.Asleep && w.running != nil && r.Method != http.MethodGet && r.Host == apiServer:
			w.standStill(h, r)
		default:
			h.ServeHTTP(out, r)
		}
	})
}

// refuse answers as servers do that are starting or have too much to do. Which answer that is, a number from 0 to 1
// says.
func refuse(out http.ResponseWriter, r *http.Request, which float64) {
	status := []*apierrors.StatusError{
		apierrors.NewServiceUnavailable("the server is starting"),
		apierrors.NewInternalError(http.ErrServerClosed),
		apierrors.NewTooManyRequests("too many requests", 1),
	}[int(which*3)].ErrStatus
	if r.Host != apiServer {
		http.Error(out, "starting", http.StatusServiceUnavailable)
		return
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	out.Header().Set("Content-Type", "application/json")
	if status.Code == http.StatusTooManyRequests {
		out.Header().Set("Retry-After", "1")
	}
	out.WriteHeader(int(status.Code))
	_ = json.NewEncoder(out).Encode(status)
}

// Cut lets no connection to a member through any more, while everybody else reaches the member; until Mend.
func (w *World) Cut(k topology.Kind, ordinal int) { w.cut[member{k, ordinal}] = true }

// Mend ends all cuts.
func (w *World) Mend() { clear(w.cut) }

// member is one of the cluster.
type member struct {
	kind    topology.Kind
	ordinal int
}

package factory

import (
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
)

// watchAgain is the pause before a watch is asked for again. Up to as much is added, so that the watches of several
// processes do not all come at once.
const watchAgain = time.Second

// rewatching repeats a watch for as long as no API server answers. client-go waits longer after each failure, up to a
// minute. Meanwhile a daemon would decide by old copies of objects, and a run would miss changes, although the API
// server is back. A server that has never answered is left to the caller, which says so. So is an error that does not pass
// by itself, such as that of a certificate.
type rewatching struct {
	next     http.RoundTripper
	answered *atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (w rewatching) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		response, err := w.next.RoundTrip(r)
		if err == nil || !isWatch(r) || !w.answered.Load() || !isAway(err) {
			return response, err
		}
		select {
		case <-r.Context().Done():
			return nil, err
		case <-time.After(wait.Jitter(watchAgain, 1)):
		}
	}
}

// WrappedRoundTripper returns the transport below; client-go looks for this method.
func (w rewatching) WrappedRoundTripper() http.RoundTripper { return w.next }

// isAway reports whether an API server is away, and may be back soon.
func isAway(err error) bool {
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err)
}

// isWatch reports whether a request is a watch. A watch has no body, so that it can be sent again.
func isWatch(r *http.Request) bool { return r.Method == http.MethodGet && isTrue(r, "watch") }

// isLongRunning reports whether the API server lets a request go on for any time. The answer may not begin before there
// is something to send.
func isLongRunning(r *http.Request) bool {
	part := path.Base(r.URL.Path)
	return isWatch(r) || isTrue(r, "follow") || part == "portforward" || part == "exec" || part == "attach" || strings.Contains(r.URL.Path, "/proxy/")
}

// isTrue reports whether a parameter of a request is true.
func isTrue(r *http.Request, parameter string) bool {
	is, err := strconv.ParseBool(r.URL.Query().Get(parameter))
	return is && err == nil
}

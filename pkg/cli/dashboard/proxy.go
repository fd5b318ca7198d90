package dashboard

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/running"
)

// way leads from this machine to the member that serves the dashboard.
type way struct {
	cluster topology.Cluster
	members running.Client
	log     io.Writer

	mu sync.Mutex
	at *url.URL // nil: PD is asked again
}

// path is where PD serves the dashboard. Everything else that PD serves changes the cluster without
// a password, so it is not passed on: any program of this machine can connect.
const path = "/dashboard"

// handler passes requests for the dashboard on. A request of a page of another site, which a browser
// sends under the name of that site, is refused.
func (w *way) handler(transport http.RoundTripper) http.Handler {
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(memberOf(r.In.Context()))
		},
		ModifyResponse: func(r *http.Response) error {
			if to, err := r.Location(); err == nil && to.Host == r.Request.URL.Host {
				to.Scheme, to.Host = "", ""
				r.Header.Set("Location", to.String())
			} else if r.StatusCode/100 == 3 && err == nil {
				w.forget(r.Request.URL) // another member serves it now
			}
			return nil
		},
		ErrorHandler: func(out http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				return
			}
			w.forget(r.URL)
			w.failed(out, err)
		},
	}
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		switch {
		case !local(r.Host):
			http.Error(out, "this address is for a browser of this machine", http.StatusForbidden)
			return
		case r.URL.Path == "/" || r.URL.Path == path:
			http.Redirect(out, r, path+"/", http.StatusFound)
			return
		case !strings.HasPrefix(r.URL.Path, path+"/") || strings.Contains(r.URL.Path, ".."):
			http.NotFound(out, r)
			return
		}
		at, err := w.now(r.Context())
		if err != nil {
			w.failed(out, err)
			return
		}
		proxy.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), targetKey{}, at)))
	})
}

// targetKey is the key of the member's address in the context of a request.
type targetKey struct{}

func memberOf(ctx context.Context) *url.URL {
	at, _ := ctx.Value(targetKey{}).(*url.URL)
	return at
}

// local reports whether a browser has asked for an address of this machine. A name that somebody else has pointed
// here does not count.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// now returns the member that serves the dashboard.
func (w *way) now(ctx context.Context) (*url.URL, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at != nil {
		return w.at, nil
	}
	at, err := w.find(ctx)
	if err == nil {
		w.at = at
	}
	return at, err
}

// forget has PD asked again which member serves the dashboard.
func (w *way) forget(was *url.URL) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at != nil && w.at.Host == was.Host {
		w.at = nil
	}
}

// failed says that the dashboard could not be reached, here and in the browser.
func (w *way) failed(out http.ResponseWriter, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintln(w.log, "the dashboard cannot be reached:", err)
	http.Error(out, fmt.Sprintf("the dashboard cannot be reached: %v; reload the page to try again", err), http.StatusBadGateway)
}

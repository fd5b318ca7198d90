// Package endpoint is where a process that runs all the time can be asked how it
// is: by Kubernetes with probes, by Prometheus, and by a person with a profiler.
package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"syscall"
	"time"
)

// Config is what is answered.
type Config struct {
	Metrics http.Handler
	// Ready and Healthy say why not with an error. One that is not healthy is to
	// be restarted, one that is not ready to be waited for.
	Ready, Healthy func() error
	// Profiles: profiles may be taken, which costs time and shows what is in memory.
	Profiles bool
	Log      *slog.Logger
}

const (
	// readTimeout bounds how long a request may take to come, so that nobody can
	// hold connections open for nothing.
	readTimeout = 10 * time.Second
	// writeTimeout bounds an answer; a profile takes 30 s unless asked for more.
	writeTimeout = 5 * time.Minute
	// drain is how long answers that are under way have at the end.
	drain = 5 * time.Second
)

// Server answers on one address.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// Listen takes an address such as ":8080". It fails at once if that is not to be
// had, and answers nothing before Run.
func Listen(address string, c Config) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &AddressError{address, err}
	}
	s := &Server{listener: l, http: &http.Server{
		Handler: c.handler(), ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
	}}
	if c.Log != nil {
		s.http.ErrorLog = slog.NewLogLogger(c.Log.Handler(), slog.LevelWarn)
	}
	return s, nil
}

// AddressError says that an address cannot be listened on.
type AddressError struct {
	Address string
	Err     error
}

func (e *AddressError) Error() string {
	switch {
	case errors.Is(e.Err, syscall.EADDRINUSE):
		return fmt.Sprintf("cannot listen on %s: another process does; end that one, or choose another address", e.Address)
	case errors.Is(e.Err, syscall.EACCES):
		return fmt.Sprintf("cannot listen on %s: not permitted; choose a port above 1023", e.Address)
	}
	return fmt.Sprintf("cannot listen on %s: %v; an address is HOST:PORT, or :PORT for all of this host's", e.Address, e.Err)
}

func (e *AddressError) Unwrap() error { return e.Err }

// Address is the one that is listened on, with the port that was found for ":0".
func (s *Server) Address() string { return s.listener.Addr().String() }

// Run answers until ctx ends, and then what has been asked before.
func (s *Server) Run(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(s.listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("answer on %s: %w", s.Address(), err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}

// Close gives the address back if Run never ran.
func (s *Server) Close() error {
	_ = s.http.Close()
	if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func (c Config) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", c.Metrics)
	mux.Handle("GET /healthz", probe(c.Healthy, http.StatusInternalServerError))
	mux.Handle("GET /readyz", probe(c.Ready, http.StatusServiceUnavailable))
	if c.Profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	}
	return mux
}

// probe answers with what it was told, for those who ask with curl.
func probe(is func() error, failure int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := is(); err != nil {
			http.Error(w, err.Error(), failure)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

// Package endpoint is the HTTP server of a daemon. It answers the probes of Kubernetes, Prometheus, and a person
// with a profiler.
package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// Config says what the server answers.
type Config struct {
	Metrics http.Handler
	// Ready and Healthy return an error that says why not. A process that is not
	// healthy should be restarted; one that is not ready should be waited for.
	Ready, Healthy func() error
	// Profiles allows to take profiles, which costs time and shows what is in
	// memory.
	Profiles bool
	Log      *slog.Logger
}

const (
	// readTimeout bounds how long a request may take to arrive, so that no client
	// can keep unused connections open.
	readTimeout = 10 * time.Second
	// writeTimeout bounds an answer; a profile takes 30 s unless asked for more.
	writeTimeout = 5 * time.Minute
	// drain is how long unfinished answers may take at the end.
	drain = 5 * time.Second
)

// Server answers on one address.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// Listen listens on an address such as ":8080". It fails at once if that is not
// possible, and answers nothing before Run.
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

// AddressError reports that an address cannot be listened on.
type AddressError struct {
	Address string
	Err     error
}

func (e *AddressError) Error() string {
	switch {
	case errors.Is(e.Err, inUse):
		return fmt.Sprintf("cannot listen on %s: another process does; end that one, or choose another address", e.Address)
	case errors.Is(e.Err, denied):
		return fmt.Sprintf("cannot listen on %s: not permitted; choose a port above 1023", e.Address)
	}
	return fmt.Sprintf("cannot listen on %s: %v; an address is HOST:PORT, or :PORT for all of this host's", e.Address, e.Err)
}

func (e *AddressError) Unwrap() error { return e.Err }

// Address returns the address that the server listens on, with the port that was
// chosen for ":0".
func (s *Server) Address() string { return s.listener.Addr().String() }

// Run answers requests until ctx ends, and then completes those that have begun.
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

// Close stops listening if Run was never called.
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

// probe answers with the error as text, for a person who uses curl.
func probe(is func() error, failure int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := is(); err != nil {
			http.Error(w, err.Error(), failure)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

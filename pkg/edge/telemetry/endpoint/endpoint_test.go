package endpoint

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func config() Config {
	return Config{
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "numbers") }),
		Ready:   func() error { return nil },
		Healthy: func() error { return nil },
	}
}

// serve runs a server; the function that it returns ends it.
func serve(t *testing.T, c Config) (url string, end func() error) {
	t.Helper()
	s, err := Listen("127.0.0.1:0", c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return "http://" + s.Address(), func() error {
		cancel()
		return <-ended
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(body))
}

func TestAnswers(t *testing.T) {
	bad := config()
	bad.Ready = func() error { return errors.New("no copy yet") }
	bad.Healthy = func() error { return errors.New("a turn does not end") }
	bad.Profiles = true
	for _, tt := range []struct {
		name   string
		c      Config
		path   string
		status int
		body   string // it begins so
	}{
		{"metrics", config(), "/metrics", 200, "numbers"},
		{"ready", config(), "/readyz", 200, "ok"},
		{"healthy", config(), "/healthz", 200, "ok"},
		{"no profiles unless asked for", config(), "/debug/pprof/", 404, ""},
		{"no memory unless asked for", config(), "/debug/pprof/heap", 404, ""},
		{"nothing else", config(), "/", 404, ""},
		{"not ready", bad, "/readyz", 503, "no copy yet"},
		{"not healthy", bad, "/healthz", 500, "a turn does not end"},
		{"metrics all the same", bad, "/metrics", 200, "numbers"},
		{"profiles", bad, "/debug/pprof/", 200, "<html>"},
		{"goroutines", bad, "/debug/pprof/goroutine?debug=1", 200, "goroutine profile"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, end := serve(t, tt.c)
			status, body := get(t, url+tt.path)
			if status != tt.status || !strings.HasPrefix(body, tt.body) {
				t.Errorf("%d: %.200s", status, body)
			}
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGraceful: a request that has begun before the end is answered.
func TestGraceful(t *testing.T) {
	c := config()
	asked, ending := make(chan struct{}), make(chan struct{})
	c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-ending
		_, _ = io.WriteString(w, "late")
	})
	s, err := Listen("127.0.0.1:0", c)
	if err != nil {
		t.Fatal(err)
	}
	s.http.RegisterOnShutdown(func() { close(ending) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	go func() {
		<-asked
		cancel()
	}()
	if status, body := get(t, "http://"+s.Address()+"/metrics"); status != 200 || body != "late" {
		t.Errorf("%d: %s", status, body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestAddress: an address that is in use or wrong is an error before anything runs.
func TestAddress(t *testing.T) {
	first, err := Listen("127.0.0.1:0", config())
	if err != nil {
		t.Fatal(err)
	}
	for address, says := range map[string]string{
		first.Address(): "another process does; end that one, or choose another address",
		"nonsense":      "an address is HOST:PORT",
	} {
		_, err := Listen(address, config())
		var failed *AddressError
		if !errors.As(err, &failed) || failed.Address != address || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", address, err)
		}
	}
	// Close frees the address of a server that has never run.
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	again, err := Listen(first.Address(), config())
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

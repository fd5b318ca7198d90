package tikv

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func serve(t *testing.T, code int, body string) (*Client, string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			t.Errorf("path %s", r.URL.Path)
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return &Client{HTTP: s.Client()}, strings.TrimPrefix(s.URL, "http://")
}

func TestCounts(t *testing.T) {
	page := "# TYPE other histogram\n" + strings.Repeat("other_bucket{le=\"0.1\"} 5\n", 1000) +
		"# HELP tikv_raftstore_region_count Number of regions collected in region_collector\n" +
		"# TYPE tikv_raftstore_region_count gauge\n" +
		"tikv_raftstore_region_count_total{type=\"leader\"} 99\n" +
		"tikv_raftstore_region_count{type=\"leader\"} 340\n" +
		"tikv_raftstore_region_count{type=\"region\"} 1.021e+03\n" +
		"tikv_raftstore_region_count{type=\"hibernated\"} 4\n"
	c, host := serve(t, 200, page)
	if n, err := c.LeaderCount(t.Context(), host); err != nil || n != 340 {
		t.Errorf("LeaderCount() = %d, %v", n, err)
	}
	if n, err := c.RegionCount(t.Context(), host); err != nil || n != 1021 {
		t.Errorf("RegionCount() = %d, %v", n, err)
	}
}

// A zero would allow to restart a store that leads regions.
func TestDoubtIsAnError(t *testing.T) {
	const region = "tikv_raftstore_region_count{type=\"region\"} 3\n"
	tests := map[string]struct {
		code int
		body string
	}{
		"empty page":     {200, ""},
		"leader missing": {200, region},
		"region missing": {200, "tikv_raftstore_region_count{type=\"leader\"} 3\n"},
		"not a number":   {200, region + "tikv_raftstore_region_count{type=\"leader\"} NaN\n"},
		"negative":       {200, region + "tikv_raftstore_region_count{type=\"leader\"} -1\n"},
		"infinite":       {200, region + "tikv_raftstore_region_count{type=\"leader\"} +Inf\n"},
		"broken line":    {200, region + "tikv_raftstore_region_count{type=\"leader} 0\n"},
		"no label":       {200, region + "tikv_raftstore_region_count 0\n"},
		"starting":       {503, region + "tikv_raftstore_region_count{type=\"leader\"} 0\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, host := serve(t, test.code, test.body)
			if n, err := c.LeaderCount(t.Context(), host); err == nil || n != 0 {
				t.Errorf("LeaderCount() = %d, %v", n, err)
			}
		})
	}
}

func TestCutOffPageIsAnError(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "tikv_raftstore_region_count{type=\"leader\"} 3")
	}))
	defer s.Close()
	c := &Client{HTTP: s.Client()}
	if n, err := c.LeaderCount(t.Context(), strings.TrimPrefix(s.URL, "http://")); err == nil {
		t.Errorf("got %d from half a page", n)
	}
}

func TestDefaultPortAndScheme(t *testing.T) {
	var asked string
	hc := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r.URL.String()
		return nil, io.EOF
	})}
	_, err := (&Client{HTTP: hc, Scheme: "https"}).LeaderCount(t.Context(), "basic-tikv-0.basic-tikv-peer.ns.svc")
	if err == nil || asked != "https://basic-tikv-0.basic-tikv-peer.ns.svc:20180/metrics" {
		t.Errorf("asked %s, error %v", asked, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

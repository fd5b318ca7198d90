package pd

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

const (
	regionsBody = `{"count":1021,"regions":null}`
	metricsBody = `# HELP pd_checker_patrol_regions_time Time spent of patrol checks region.
# TYPE pd_checker_patrol_regions_time gauge
pd_checker_patrol_regions_time 10.25
# HELP pd_regions_label_level Number of regions in the different label level.
# TYPE pd_regions_label_level gauge
pd_regions_label_level{type="none"} 0
pd_regions_label_level{type="zone"} 1.021e+03
# HELP pd_regions_status Status of the regions.
# TYPE pd_regions_status gauge
pd_regions_status{type="down-peer-region-count"} 0
pd_regions_status{type="empty-region-count"} 900
pd_regions_status{type="miss-peer-region-count"} 3
pd_regions_status{type="offline-peer-region-count"} 0
pd_regions_status{type="pending-peer-region-count"} 1
pd_regions_status_total{type="miss-peer-region-count"} 99
`
)

func TestIsolation(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.answer("GET /pd/api/v1/regions/count", regionsBody)
		g.answer("GET /metrics", strings.Repeat("other_bucket{le=\"0.1\"} 5\n", 100_000)+metricsBody)
		want := &Isolation{
			Regions: 1021, Apart: map[string]int{"none": 0, "zone": 1021},
			Unsound: map[string]int{"miss-peer": 3, "pending-peer": 1, "down-peer": 0, "offline-peer": 0}, Pass: 10250 * time.Millisecond,
		}
		if got, err := c.Isolation(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Isolation() = %+v, %v", got, err)
		}
		g.answer("GET /metrics", "go_goroutines 7\n")
		want = &Isolation{Regions: 1021, Apart: map[string]int{}, Unsound: map[string]int{}}
		if got, err := c.Isolation(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("nothing is counted yet: %+v, %v", got, err)
		}
	})
}

// TestIsolationInDoubt: what is no count is an error that names the metric, and the request is not repeated. Taken for
// zero, it could say that no region has two copies in the same place.
func TestIsolationInDoubt(t *testing.T) {
	for name, c := range map[string]struct{ count, page, says string }{
		"not a number":          {regionsBody, "pd_regions_label_level{type=\"none\"} NaN\n", `pd_regions_label_level{type="none"} is NaN`},
		"negative":              {regionsBody, "pd_regions_label_level{type=\"none\"} -1\n", `pd_regions_label_level{type="none"} is -1`},
		"not whole":             {regionsBody, "pd_regions_status{type=\"miss-peer-region-count\"} 0.5\n", `pd_regions_status{type="miss-peer-region-count"} is 0.5`},
		"endless":               {regionsBody, "pd_checker_patrol_regions_time +Inf\n", "pd_checker_patrol_regions_time is +Inf"},
		"before it has begun":   {regionsBody, "pd_checker_patrol_regions_time -1\n", "pd_checker_patrol_regions_time is -1"},
		"no time":               {regionsBody, "pd_checker_patrol_regions_time NaN\n", "pd_checker_patrol_regions_time is NaN"},
		"a broken line":         {regionsBody, "pd_regions_label_level{type=\"none} 1\n", "parse metrics"},
		"no count of regions":   {`{}`, metricsBody, "did not answer how many regions"},
		"fewer than no regions": {`{"count":-1}`, metricsBody, "did not answer how many regions"},
	} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, nil, func(t *testing.T, g *group, client Client) {
				g.answer("GET /pd/api/v1/regions/count", c.count)
				g.answer("GET /metrics", c.page)
				got, err := client.Isolation(t.Context())
				if err == nil || !strings.Contains(err.Error(), c.says) || isOneOf(err, ErrUnreachable, ErrNoLeader, ErrNotReady) {
					t.Errorf("%+v, %v", got, err)
				}
				if n := g.count("GET /metrics"); n != 1 {
					t.Errorf("asked %d times", n)
				}
			})
		})
	}
}

// TestIsolationOfTheLeader: a member that led before does not forward the page. Its own page would look as if PD had
// counted nothing.
func TestIsolationOfTheLeader(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.answer("GET /pd/api/v1/regions/count", regionsBody)
		g.handle("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
			g.mu.Lock()
			defer g.mu.Unlock()
			if r.Host == g.leader {
				io.WriteString(w, metricsBody)
			}
		})
		if _, err := c.Isolation(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.set(func() { g.leader = hostName(2) })
		if got, err := c.Isolation(t.Context()); err != nil || got.Apart["zone"] != 1021 {
			t.Errorf("Isolation() = %+v, %v", got, err)
		}
	})
}

// TestIsolationWithoutALeader: the leader changes while it is asked, and nobody follows.
func TestIsolationWithoutALeader(t *testing.T) {
	inGroup(t, func(cfg *Config) { cfg.Budget = 10 * time.Second }, func(t *testing.T, g *group, c Client) {
		g.answer("GET /pd/api/v1/regions/count", regionsBody)
		g.handle("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
			g.set(func() { g.leader = "" })
			io.WriteString(w, metricsBody)
		})
		if got, err := c.Isolation(t.Context()); !errors.Is(err, ErrNoLeader) {
			t.Errorf("Isolation() = %+v, %v", got, err)
		}
	})
}

// TestPageOfMetrics: a page has limits, and half a page is none. It is read once more, because the next one may be
// whole.
func TestPageOfMetrics(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.answer("GET /pd/api/v1/regions/count", regionsBody)
		g.answer("GET /metrics", strings.Repeat("pd_regions_label_level{type=\"x\"} 5\n", 10_000))
		if got, err := c.Isolation(t.Context()); !errors.Is(err, ask.ErrTooLarge) {
			t.Errorf("many lines: %+v, %v", got, err)
		}
		g.answer("GET /metrics", strings.Repeat(strings.Repeat("x", 1<<10)+"\n", ask.PageBytes>>10))
		if got, err := c.Isolation(t.Context()); !errors.Is(err, ask.ErrTooLarge) {
			t.Errorf("a large page: %+v, %v", got, err)
		}
		pages := 0
		g.handle("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
			if pages++; pages == 1 {
				w.Header().Set("Content-Length", "1000")
				io.WriteString(w, "pd_regions_label_level{type=\"zone\"} 1")
				return
			}
			io.WriteString(w, metricsBody)
		})
		if got, err := c.Isolation(t.Context()); err != nil || got.Apart["zone"] != 1021 || pages != 2 {
			t.Errorf("half a page: %+v, %v, %d pages", got, err, pages)
		}
	})
}

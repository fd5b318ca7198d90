package metrics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/tools/cache"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/daemon"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

var (
	_ daemon.Meter              = (*Meter)(nil)
	_ reconcile.Reporter        = (*Meter)(nil)
	_ workqueue.MetricsProvider = (*Meter)(nil)

	basic = cache.NewObjectName("tidb", "basic")
	other = cache.NewObjectName("tidb", "other")
)

// gather returns the series, one a line, without values that differ from one run to the next.
func gather(t *testing.T, m *Meter, names ...string) []string {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range families {
		if !slices.Contains(names, f.GetName()) {
			continue
		}
		for _, s := range f.GetMetric() {
			lines = append(lines, series(f.GetName(), s))
		}
	}
	return lines
}

func series(name string, m *dto.Metric) string {
	var labels []string
	for _, l := range m.GetLabel() {
		labels = append(labels, l.GetValue())
	}
	value := m.GetGauge().GetValue() + m.GetCounter().GetValue()
	if h := m.GetHistogram(); h != nil {
		value = h.GetSampleSum()
	}
	return fmt.Sprintf("%s{%s} %v", strings.TrimPrefix(name, prefix), strings.Join(labels, ","), value)
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// all returns a Meter in which every metric has a value.
func all(t *testing.T) *Meter {
	m := New("v1.2.3")
	m.CountRequests()
	m.Probe(func() error { return nil }, func() error { return errors.New("stuck") })
	m.Turn(basic, "wait", time.Second)
	m.Gates(basic, []plan.Gate{{Component: topology.TiKV, Member: "basic-tikv-2", Reason: plan.LeadersEvicted, Want: "region leaders evicted"}})
	m.Held(basic, true)
	m.Report(event.Event{Type: event.Finished, Component: "tikv", Action: "EvictLeaders", Seconds: 2})
	m.Called(basic, "Stores", time.Second, pd.ErrNoLeader)
	q := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "tidbclusters", MetricsProvider: m})
	t.Cleanup(q.ShutDown)
	q.Add("a")
	q.AddRateLimited("b")
	if got, _ := q.Get(); got != "a" {
		t.Fatalf("got %q from the queue", got)
	}
	q.Done("a")
	m.requests.WithLabelValues("200", "GET").Inc()
	m.retried.WithLabelValues("429", "GET").Inc()
	m.latency.WithLabelValues("GET").Observe(1)
	m.limited.WithLabelValues("GET").Observe(1)
	return m
}

// TestDocumentation holds docs/metrics.md to the registry: the same names, types and
// labels. Prometheus' own linter checks them as well.
func TestDocumentation(t *testing.T) {
	families, err := all(t).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	libraries := regexp.MustCompile("^(go|process|promhttp)_")
	got := map[string]string{}
	for _, f := range families {
		if libraries.MatchString(f.GetName()) {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		got[f.GetName()] = strings.ToLower(f.GetType().String()) + " " + strings.Join(labels, " ")
		problems, err := promlint.NewWithMetricFamilies([]*dto.MetricFamily{f}).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v, %v", f.GetName(), problems, err)
		}
	}
	page, err := os.ReadFile("../../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\| ([^|]*)\\|").FindAllStringSubmatch(string(page), -1) {
		labels := strings.Fields(strings.ReplaceAll(row[3], "`", ""))
		slices.Sort(labels)
		want[row[1]] = row[2] + " " + strings.Join(labels, " ")
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if want[name] != got[name] {
			t.Errorf("%s is a %s, and documented as %q", name, got[name], want[name])
		}
	}
	for name := range want {
		if got[name] == "" {
			t.Errorf("%s is documented and does not exist", name)
		}
	}
}

func TestClusters(t *testing.T) {
	m := New("v1")
	now := time.Unix(1000, 0)
	m.clusters.now = func() time.Time { return now }
	leaders := plan.Gate{Component: topology.TiKV, Member: "basic-tikv-2", Reason: plan.LeadersEvicted, Want: "region leaders evicted", Since: time.Unix(900, 0)}
	pod := plan.Gate{Component: topology.PD, Member: "basic-pd-0", Reason: plan.MemberServing, Want: "pod ready"}
	gathered := func() []string {
		return gather(t, m, prefix+"cluster_state", prefix+"lease_held", prefix+"gate_since_timestamp_seconds", prefix+"pd_failed_calls_total")
	}
	m.Turn(basic, "wait", time.Second)
	m.Held(basic, true)
	m.Gates(basic, []plan.Gate{leaders, pod, pod})
	m.Turn(other, "converged", time.Second)
	same(t, gathered(),
		"cluster_state{basic,tidb,wait} 1", "cluster_state{other,tidb,converged} 1",
		"gate_since_timestamp_seconds{false,basic,tidb,pd,basic-pd-0,,MemberServing} 1000",
		"gate_since_timestamp_seconds{false,basic,tidb,tikv,basic-tikv-2,,LeadersEvicted} 900",
		"lease_held{basic,tidb} 1")
	// The series of a gate that has passed is gone. A gate that becomes blocked keeps its age.
	now = now.Add(time.Minute)
	pod.Blocked = true
	m.Turn(basic, "blocked", time.Second)
	m.Gates(basic, []plan.Gate{pod})
	m.Called(basic, "Stores", time.Second, pd.ErrUnreachable)
	m.Called(basic, "Stores", time.Second, pd.ErrRefused)
	same(t, gathered(),
		"cluster_state{basic,tidb,blocked} 1", "cluster_state{other,tidb,converged} 1",
		"gate_since_timestamp_seconds{true,basic,tidb,pd,basic-pd-0,,MemberServing} 1000",
		"lease_held{basic,tidb} 1", "pd_failed_calls_total{basic,tidb} 1")
	// After a failed turn the gates are as before.
	m.Turn(basic, "error", time.Second)
	if got := gather(t, m, prefix+"gate_since_timestamp_seconds"); len(got) != 1 {
		t.Errorf("after an error: %q", got)
	}
	// Another process drives the cluster and reports its gates.
	m.Held(basic, false)
	m.Turn(basic, "held", time.Second)
	same(t, gathered(), "cluster_state{basic,tidb,held} 1", "cluster_state{other,tidb,converged} 1", "pd_failed_calls_total{basic,tidb} 1")
	m.Gone(basic)
	same(t, gathered(), "cluster_state{other,tidb,converged} 1")
}

func TestCounts(t *testing.T) {
	m := New("v1")
	m.Turn(basic, "act", 2*time.Second)
	m.Turn(other, "act", 3*time.Second)
	m.Report(event.Event{Type: event.Started, Component: "tikv", Action: "Restart"})
	m.Report(event.Event{Type: event.Finished, Component: "tikv", Action: "Restart", Seconds: 2})
	m.Report(event.Event{Type: event.Failed, Component: "tikv", Action: "Restart", Seconds: 1})
	m.Report(event.Event{Type: event.Failed, Step: "observe the cluster"})
	m.Report(event.Event{Type: event.Waiting, Component: "tikv", Reason: "MemberServing", Message: "not serving"})
	same(t, gather(t, m, prefix+"turns_total", prefix+"turn_duration_seconds", prefix+"steps_total", prefix+"step_duration_seconds"),
		"step_duration_seconds{Restart} 3",
		"steps_total{Restart,tikv,error} 1", "steps_total{Restart,tikv,ok} 1",
		"turn_duration_seconds{} 5", "turns_total{act} 2")
}

func TestCalls(t *testing.T) {
	for want, err := range map[string]error{
		"ok": nil, "unreachable": pd.ErrUnreachable, "no_leader": &pd.UnavailableError{Op: "x", Kind: pd.ErrNoLeader, Last: errors.New("y")},
		"not_ready": pd.ErrNotReady, "not_bootstrapped": pd.ErrNotBootstrapped, "schedulers_not_loaded": &pd.SchedulersNotLoadedError{},
		"refused": &pd.StatusError{Code: 400, Message: "no"}, "cancelled": fmt.Errorf("x: %w", context.Canceled), "error": errors.New("decode"),
	} {
		m := New("v1")
		m.Called(basic, "Stores", 2*time.Second, err)
		lines := []string{"pd_call_duration_seconds{Stores} 2", "pd_calls_total{Stores," + want + "} 1"}
		if slices.Contains([]string{"unreachable", "no_leader", "not_ready", "error"}, want) {
			lines = append(lines, "pd_failed_calls_total{basic,tidb} 1")
		}
		same(t, gather(t, m, prefix+"pd_calls_total", prefix+"pd_call_duration_seconds", prefix+"pd_failed_calls_total"), lines...)
	}
}

// TestRequests: client-go reports requests to the Meter, and no URL becomes a label.
func TestRequests(t *testing.T) {
	c := New("v1")
	r := results{c.requests}
	r.Increment(t.Context(), "200", "GET", "10.0.0.1")
	latency{c.client.latency}.Observe(t.Context(), "GET", url.URL{Path: "/api/v1/pods"}, time.Second)
	retries{c.retried}.IncrementRetry(t.Context(), "429", "GET", "10.0.0.1")
	same(t, gather(t, c, "rest_client_requests_total", "rest_client_request_duration_seconds", "rest_client_request_retries_total"),
		"rest_client_request_duration_seconds{GET} 1", "rest_client_request_retries_total{429,GET} 1", "rest_client_requests_total{200,GET} 1")
	all(t) // registers
	if _, ours := clientmetrics.RequestResult.(results); !ours {
		t.Error("client-go reports requests to another Meter")
	}
}

// TestServe: what Prometheus gets, and that the probes are asked when it asks.
func TestServe(t *testing.T) {
	m := New("v1.2.3")
	problem := errors.New("no copy yet")
	m.Probe(func() error { return problem }, func() error { return nil })
	get := func() string {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Body.String()
	}
	for _, line := range []string{"kubectl_tidb_ready 0\n", "kubectl_tidb_healthy 1\n", `version="v1.2.3"} 1`, "go_goroutines "} {
		if body := get(); !strings.Contains(body, line) {
			t.Errorf("no %q in\n%s", line, body)
		}
	}
	problem = nil
	if !strings.Contains(get(), "kubectl_tidb_ready 1\n") {
		t.Error("not ready")
	}
}

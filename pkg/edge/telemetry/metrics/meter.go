package metrics

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// prefix begins the names of all metrics that are our own.
const prefix = "kubectl_tidb_"

// Meter holds the metrics of one process. It implements daemon.Meter,
// reconcile.Reporter, workqueue.MetricsProvider and http.Handler. All methods may
// be called at the same time.
type Meter struct {
	queue
	client
	clusters *clusters

	turns        *prometheus.CounterVec
	turnDuration prometheus.Histogram
	steps        *prometheus.CounterVec
	stepDuration *prometheus.HistogramVec
	calls        *prometheus.CounterVec
	callDuration *prometheus.HistogramVec

	registry *prometheus.Registry
	handler  http.Handler
}

// Buckets of seconds. A step ends within a minute, a call of PD within 45 s; a
// turn is several of both.
var (
	long  = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	short = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
)

// New makes the metrics of a process of this version.
func New(version string) *Meter {
	r := prometheus.NewRegistry()
	m := &Meter{
		registry: r, queue: newQueue(r), client: newClient(r), clusters: newClusters(time.Now),
		turns:        counter(r, "turns_total", "Turns taken: looks at a cluster, and what was done after.", "outcome"),
		turnDuration: histogram(r, "turn_duration_seconds", "How long a turn took.", long).WithLabelValues().(prometheus.Histogram),
		steps:        counter(r, "steps_total", "Steps taken.", "component", "action", "result"),
		stepDuration: histogram(r, "step_duration_seconds", "How long a step took.", long, "action"),
		calls:        counter(r, "pd_calls_total", "Calls of PD, with all their repeats each.", "call", "result"),
		callDuration: histogram(r, "pd_call_duration_seconds", "How long a call of PD took, with all its repeats.", short, "call"),
	}
	build := gauge(r, "build_info", "1; what was built is in the labels.", "version", "goversion")
	build.WithLabelValues(version, runtime.Version()).Set(1)
	r.MustRegister(m.clusters, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(r, promhttp.HandlerOpts{Registry: r})
	return m
}

// ServeHTTP answers Prometheus.
func (m *Meter) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// Turn implements daemon.Meter.
func (m *Meter) Turn(cluster cache.ObjectName, outcome string, took time.Duration) {
	m.turns.WithLabelValues(outcome).Inc()
	m.turnDuration.Observe(took.Seconds())
	m.clusters.countTurn(cluster, outcome)
}

// Gates implements daemon.Meter.
func (m *Meter) Gates(cluster cache.ObjectName, gates []plan.Gate) { m.clusters.wait(cluster, gates) }

// Held implements daemon.Meter.
func (m *Meter) Held(cluster cache.ObjectName, held bool) { m.clusters.setHeld(cluster, held) }

// Gone implements daemon.Meter.
func (m *Meter) Gone(cluster cache.ObjectName) { m.clusters.forget(cluster) }

// Report implements reconcile.Reporter: it counts the steps that end.
func (m *Meter) Report(e event.Event) {
	result := map[event.Type]string{event.Finished: "ok", event.Failed: "error"}[e.Type]
	if e.Action == "" || result == "" {
		return
	}
	m.steps.WithLabelValues(e.Component, e.Action, result).Inc()
	m.stepDuration.WithLabelValues(e.Action).Observe(e.Seconds)
}

// Called counts a call of a cluster's PD.
func (m *Meter) Called(cluster cache.ObjectName, call string, took time.Duration, err error) {
	result, failed := resultOf(err)
	m.calls.WithLabelValues(call, result).Inc()
	m.callDuration.WithLabelValues(call).Observe(took.Seconds())
	if failed {
		m.clusters.fail(cluster)
	}
}

// Probe shows what the probes of the process answer.
func (m *Meter) Probe(ready, healthy func() error) {
	is := func(probe func() error) func() float64 {
		return func() float64 {
			if probe() != nil {
				return 0
			}
			return 1
		}
	}
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "ready", Help: "1 if /readyz says ok, else 0."}, is(ready)),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "healthy", Help: "1 if /healthz says ok, else 0."}, is(healthy)),
	)
}

func counter(r *prometheus.Registry, name, help string, labels ...string) *prometheus.CounterVec {
	return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels))
}

func gauge(r *prometheus.Registry, name, help string, labels ...string) *prometheus.GaugeVec {
	return register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels))
}

func histogram(r *prometheus.Registry, name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}, labels))
}

func register[C prometheus.Collector](r *prometheus.Registry, c C) C {
	r.MustRegister(c)
	return c
}

package metrics

import (
	"context"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientmetrics "k8s.io/client-go/tools/metrics"
)

// client counts requests to the API server. The names of the metrics are those of the Kubernetes
// project's own components.
type client struct {
	requests, retried *prometheus.CounterVec
	latency, limited  *prometheus.HistogramVec
}

func newClient(r *prometheus.Registry) client {
	counter := func(name, help string) *prometheus.CounterVec {
		return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rest_client_" + name, Help: help}, []string{"code", "method"}))
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "rest_client_" + name, Help: help, Buckets: short}, []string{"verb"}))
	}
	return client{
		requests: counter("requests_total", "Requests to the API server; code is <error> for one without an answer."),
		retried:  counter("request_retries_total", "Requests that were sent again."),
		latency:  histogram("request_duration_seconds", "How long a request took."),
		limited:  histogram("rate_limiter_duration_seconds", "How long a request was held back by our own limit of requests per second."),
	}
}

// CountRequests counts the requests of all of the process's clients to API servers, from now on.
// Only the first Meter of a process can: client-go allows one.
func (c client) CountRequests() {
	clientmetrics.Register(clientmetrics.RegisterOpts{
		RequestLatency: latency{c.latency}, RateLimiterLatency: latency{c.limited},
		RequestResult: results{c.requests}, RequestRetry: retries{c.retried},
	})
}

type latency struct{ to *prometheus.HistogramVec }

// Observe implements clientmetrics.LatencyMetric. The URL is left out: it names
// every object there is.
func (l latency) Observe(_ context.Context, verb string, _ url.URL, took time.Duration) {
	l.to.WithLabelValues(verb).Observe(took.Seconds())
}

type results struct{ to *prometheus.CounterVec }

// Increment implements clientmetrics.ResultMetric.
func (r results) Increment(_ context.Context, code, method, _ string) {
	r.to.WithLabelValues(code, method).Inc()
}

type retries struct{ to *prometheus.CounterVec }

// IncrementRetry implements clientmetrics.RetryMetric.
func (r retries) IncrementRetry(_ context.Context, code, method, _ string) {
	r.to.WithLabelValues(code, method).Inc()
}

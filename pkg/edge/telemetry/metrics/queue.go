package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// queue implements workqueue.MetricsProvider, with the names that all
// controllers of the Kubernetes project have, so that their dashboards fit.
type queue struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	waited, work               *prometheus.HistogramVec
}

func newQueue(r *prometheus.Registry) queue {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_" + name, Help: help}, []string{"name"}))
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "workqueue_" + name, Help: help}, []string{"name"}))
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "workqueue_" + name, Help: help, Buckets: long}, []string{"name"}))
	}
	return queue{
		depth:      gauge("depth", "Items that wait in the queue."),
		adds:       counter("adds_total", "Items that were put on the queue."),
		waited:     histogram("queue_duration_seconds", "How long an item waited in the queue."),
		work:       histogram("work_duration_seconds", "How long an item was worked on."),
		unfinished: gauge("unfinished_work_seconds", "How long what is being worked on has taken so far, all together."),
		longest:    gauge("longest_running_processor_seconds", "How long the item that is worked on longest has taken so far."),
		retries:    counter("retries_total", "Items that were put on the queue again after a failure."),
	}
}

// NewDepthMetric implements workqueue.MetricsProvider.
func (q queue) NewDepthMetric(name string) workqueue.GaugeMetric {
	return q.depth.WithLabelValues(name)
}

// NewAddsMetric implements workqueue.MetricsProvider.
func (q queue) NewAddsMetric(name string) workqueue.CounterMetric {
	return q.adds.WithLabelValues(name)
}

// NewLatencyMetric implements workqueue.MetricsProvider.
func (q queue) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return q.waited.WithLabelValues(name)
}

// NewWorkDurationMetric implements workqueue.MetricsProvider.
func (q queue) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return q.work.WithLabelValues(name)
}

// NewUnfinishedWorkSecondsMetric implements workqueue.MetricsProvider.
func (q queue) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.unfinished.WithLabelValues(name)
}

// NewLongestRunningProcessorSecondsMetric implements workqueue.MetricsProvider.
func (q queue) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.longest.WithLabelValues(name)
}

// NewRetriesMetric implements workqueue.MetricsProvider.
func (q queue) NewRetriesMetric(name string) workqueue.CounterMetric {
	return q.retries.WithLabelValues(name)
}

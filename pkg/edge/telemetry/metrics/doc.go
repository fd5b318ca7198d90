// Package metrics is what a daemon reports to Prometheus. docs/metrics.md lists each
// metric; a test compares the page with the registry.
//
// What is known of a single cluster is a gauge that ends with the cluster, or with what the gauge is about. So a
// gate that opens leaves no series behind. Counters and histograms have no label for the cluster, so that a thousand
// clusters do not make a hundred thousand series. The exception is a counter that only clusters with failures have.
//
// The labels are cluster_namespace and cluster_name. Prometheus gives the name "namespace" to the namespace of the
// process that it asks, and "cluster" to the Kubernetes cluster. Under these names two clusters would become one.
package metrics

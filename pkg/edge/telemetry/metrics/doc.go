// Package metrics is what a daemon tells Prometheus. docs/metrics.md lists each
// metric; a test holds the page to the registry.
//
// What is known of a single cluster is a gauge that goes with the cluster, or
// with what it tells of: a gate that opens leaves nothing behind. Counters and
// histograms have no label for the cluster, except one that only clusters with
// trouble have, so that a thousand clusters do not make a hundred thousand series.
//
// The labels are cluster_namespace and cluster_name. Prometheus calls the
// namespace of the process that it asks "namespace", and the Kubernetes cluster
// "cluster": under these names two clusters would become one.
package metrics

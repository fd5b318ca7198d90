// Package metrics is what a daemon reports to Prometheus. docs/metrics.md lists each
// metric; a test compares the page with the registry.
//
// What is known of a single cluster is a gauge that ends with the cluster, or with what
// it is about: a gate that opens leaves no series behind. Counters and histograms have no
// label for the cluster, except one that only clusters with failures have, so that a
// thousand clusters do not make a hundred thousand series.
//
// The labels are cluster_namespace and cluster_name. Prometheus calls the namespace of
// the process that it asks "namespace", and the Kubernetes cluster "cluster": under these
// names two clusters would become one.
package metrics

// Package render turns what the user wants into Kubernetes objects, and what
// was observed into the status of the TidbCluster.
//
// Every name, label, port and list order is the same as in existing TiDB clusters. So a cluster
// made by tidb-operator is taken over without a restart of a pod. Want renders all objects and
// reports for each whether it must be written. Merge, Resized and WithPartition return the changed
// live object, so that package act only sends the result.
//
// It is pure: no client, no clock, no randomness.
package render

// Package render turns what the user wants into Kubernetes objects, and what
// was observed into the status of the TidbCluster.
//
// Every name, label, port and list order is the one that existing TiDB clusters have: a cluster
// made by tidb-operator is taken over without a pod restarting. Want renders all objects and
// reports for each whether it must be written. Merge, Resized and WithPartition return the changed
// live object, so that package act only sends the result.
//
// It is pure: no client, no clock, no randomness.
package render

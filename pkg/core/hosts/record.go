// Package hosts decides about the maintenance of a host on which clusters have members. It says what must
// hold before, what is done first, and what is taken back when the host is up again.
//
// It is pure. A host may have members of several clusters, and all clusters are checked before the first one
// is changed. A host that cannot be taken down for one cluster is not prepared for any cluster.
package hosts

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Annotation is on a Node under maintenance. It has the Record as JSON.
const Annotation = topology.AnnotationMaintenance

// Record says what was done before a host is taken down. It is written before anything is done, so that a
// process may be killed at any time. What is recorded is done by another start, and taken back by a stop.
// What is not recorded was done by others, and stays.
type Record struct {
	Since time.Time `json:"since"`
	By    string    `json:"by"` // a person
	// Cordoned: the node took new pods before.
	Cordoned bool      `json:"cordoned,omitempty"`
	Clusters []Cluster `json:"clusters"`
}

// Cluster is a cluster with members on the host.
type Cluster struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// UID is the UID of the TidbCluster. A TidbCluster that is created again with the same name has other stores.
	UID string `json:"uid,omitempty"`
	// Members are the names of the pods.
	Members []string `json:"members"`
	// Evicting are the ids of stores that have got an evict-leader scheduler.
	Evicting []uint64 `json:"evicting,omitempty"`
}

// String returns namespace and name.
func (c Cluster) String() string { return c.Namespace + "/" + c.Name }

// Is reports whether it is the record of a cluster.
func (c Cluster) Is(o topology.Cluster) bool {
	return c.Namespace == o.Namespace && c.Name == o.Name && c.UID == uid(o)
}

func uid(c topology.Cluster) string {
	if c.Source == nil {
		return ""
	}
	return string(c.Source.UID)
}

// Host is a host, as its Node says.
type Host struct {
	Name string
	// Cordoned: the node takes no new pods.
	Cordoned bool
	// Record is nil while it is not under maintenance.
	Record *Record
	// Marked: the record was lost with the Node, and is made of the marks of the clusters.
	Marked bool
}

// Of reads the Node of a host.
func Of(n *corev1.Node) (Host, error) {
	h := Host{Name: n.Name, Cordoned: n.Spec.Unschedulable}
	text, under := n.Annotations[Annotation]
	if !under {
		return h, nil
	}
	h.Record = &Record{}
	if err := json.Unmarshal([]byte(text), h.Record); err != nil {
		return h, fmt.Errorf("annotation %s of node %s cannot be read: %w", Annotation, n.Name, err)
	}
	return h, nil
}

// JSON returns the record as it is written.
func (r Record) JSON() string {
	b, _ := json.Marshal(r) //nolint:errchkjson // it has only strings, numbers and times
	return string(b)
}

// recordOf returns the record of a cluster, without anything if there is none.
func (r *Record) recordOf(c topology.Cluster) Cluster {
	if r != nil {
		if i := slices.IndexFunc(r.Clusters, func(o Cluster) bool { return o.Is(c) }); i >= 0 {
			return r.Clusters[i]
		}
	}
	return Cluster{Namespace: c.Namespace, Name: c.Name, UID: uid(c)}
}

// set returns the record with the record of one cluster replaced.
func (r Record) set(c Cluster) Record {
	r.Clusters = slices.Clone(r.Clusters)
	i := slices.IndexFunc(r.Clusters, func(o Cluster) bool { return o.String() == c.String() })
	if i < 0 {
		r.Clusters = append(r.Clusters, c)
		return r
	}
	r.Clusters[i] = c
	return r
}

// Names reports whether a cluster is in the record.
func (r Record) Names(c topology.Cluster) bool {
	return slices.ContainsFunc(r.Clusters, func(o Cluster) bool { return o.Is(c) })
}

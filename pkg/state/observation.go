package state

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Observation is what one look at a cluster has read.
type Observation struct {
	Cluster  topology.Cluster // what the user has written
	Existing Existing
	Snapshot Snapshot
}

// Existing is what there is of the objects that a cluster needs, by name.
type Existing struct {
	Services   map[string]*corev1.Service
	ConfigMaps map[string]*corev1.ConfigMap
	Sets       map[topology.Kind]*appsv1.StatefulSet
	// Pods are the specifications of pods of components that have no StatefulSet.
	Pods map[topology.Kind]*corev1.PodSpec
	// HasDiscoveryDeployment: the cluster was made by an operator that runs a
	// discovery server. It keeps its way of bootstrapping PD.
	HasDiscoveryDeployment bool
}

// PodSpec is the specification of a component's pods, nil when there are none.
func (have Existing) PodSpec(k topology.Kind) *corev1.PodSpec {
	if set := have.Sets[k]; set != nil {
		return &set.Spec.Template.Spec
	}
	return have.Pods[k]
}

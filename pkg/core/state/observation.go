package state

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Observation is what was read of a cluster at one moment.
type Observation struct {
	Cluster  topology.Cluster // what the user has specified
	Existing Existing
	Snapshot Snapshot
}

// Existing has the objects of a cluster that exist, by name.
type Existing struct {
	Services   map[string]*corev1.Service
	ConfigMaps map[string]*corev1.ConfigMap
	Sets       map[topology.Kind]*appsv1.StatefulSet
	// Pods are the specifications of pods of components that have no StatefulSet.
	Pods map[topology.Kind]*corev1.PodSpec
	// HasDiscoveryDeployment is true if an operator has made the cluster and runs a
	// discovery server. PD then still bootstraps with that server.
	HasDiscoveryDeployment bool
}

// PodSpec returns the specification of a component's pods, nil when there are none.
func (have Existing) PodSpec(k topology.Kind) *corev1.PodSpec {
	if set := have.Sets[k]; set != nil {
		return &set.Spec.Template.Spec
	}
	return have.Pods[k]
}

package state

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ReadyCondition returns the condition Ready of a pod, without a type where it has none yet.
func ReadyCondition(p *corev1.Pod) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c
		}
	}
	return corev1.PodCondition{}
}

// Ready reports whether Kubernetes calls a pod Ready.
func Ready(p *corev1.Pod) bool { return ReadyCondition(p).Status == corev1.ConditionTrue }

// Addressed reports whether a process of a pod can be asked. The pod has an address, and it is not in a final phase.
func Addressed(p *corev1.Pod) bool { return p.Status.PodIP != "" && !Ended(p) }

// Ended reports whether a pod is in a final phase. Kubernetes starts no container of such a pod again.
func Ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// NodeState is what Kubernetes says of a node.
type NodeState int

// NodeUnknown is the zero value on purpose. A node that was not read, or may not be read, is not lost.
const (
	NodeUnknown NodeState = iota
	NodeReady
	NodeNotReady
	NodeMissing // there is no such Node object
)

// NodeReport is what Kubernetes reports of a node. It is the zero value for a node that was not read.
type NodeReport struct {
	State NodeState
	Since time.Time // since when a node that exists is Ready, or is not; zero where that is not known
	// Message says why the node is not Ready, in the words of Kubernetes.
	Message string
}

// NodeReportOf returns what Kubernetes reports of a node that exists.
func NodeReportOf(n *corev1.Node) NodeReport {
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionTrue:
			return NodeReport{State: NodeReady, Since: c.LastTransitionTime.Time}
		default:
			return NodeReport{State: NodeNotReady, Since: c.LastTransitionTime.Time, Message: c.Message}
		}
	}
	return NodeReport{State: NodeNotReady}
}

// NodeStateOf returns what Kubernetes says of a node that exists.
func NodeStateOf(n *corev1.Node) NodeState { return NodeReportOf(n).State }

package daemon

import (
	"fmt"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/ownpod"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/daemon"
)

const (
	// port serves /healthz, /readyz and /metrics.
	port     = 8080
	portName = "http"
	// grace is longer than it takes to end a step and to take back temporary changes of the
	// clusters that are driven.
	grace = 60
)

// shardLabel says which shard of the clusters a pod has.
const shardLabel = "kubectl-tidb/shard"

// deployments returns one Deployment, or one for each shard of the clusters.
func (o options) deployments(meta metav1.ObjectMeta) []runtime.Object {
	if o.shards == 1 {
		return []runtime.Object{o.deployment(meta, daemon.Shard{})}
	}
	var all []runtime.Object
	for n := range int(o.shards) {
		part := meta
		part.Name = fmt.Sprintf("%s-%d", meta.Name, n)
		part.Labels = maps.Clone(meta.Labels)
		part.Labels[shardLabel] = strconv.Itoa(n)
		all = append(all, o.deployment(part, daemon.Shard{Index: n, Of: int(o.shards)}))
	}
	return all
}

func (o options) deployment(meta metav1.ObjectMeta, shard daemon.Shard) runtime.Object {
	selector := &metav1.LabelSelector{MatchLabels: meta.Labels}
	pod := ownpod.Spec(o.name)
	pod.TerminationGracePeriodSeconds = new(int64(grace))
	pod.TopologySpreadConstraints = spread(selector)
	pod.Containers = []corev1.Container{o.container(meta.Namespace, shard)}
	return &appsv1.Deployment{
		TypeMeta: kind("apps/v1", "Deployment"), ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: &o.replicas, Selector: selector,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: pod},
		},
	}
}

func (o options) container(namespace string, shard daemon.Shard) corev1.Container {
	c := ownpod.Container("daemon", o.image, o.args(namespace, shard)...)
	c.Ports = []corev1.ContainerPort{{Name: portName, ContainerPort: port}}
	c.ReadinessProbe, c.LivenessProbe = probe("/readyz", 5), probe("/healthz", 20)
	return c
}

func (o options) args(namespace string, shard daemon.Shard) []string {
	args := []string{"sync", "--watch", "--all-namespaces"}
	if !o.everywhere {
		args[2] = "--namespace=" + namespace
	}
	if o.selector != "" {
		args = append(args, "--selector="+o.selector)
	}
	if shard.Of > 0 {
		args = append(args, "--shard="+shard.String())
	}
	if o.restricted {
		args = append(args, "--restricted")
	}
	return append(args, "--listen=:8080")
}

func probe(path string, every int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(portName)}},
		PeriodSeconds: every, TimeoutSeconds: 5,
	}
}

// spread returns constraints by which one failure does not stop all replicas, where that is
// possible.
func spread(selector *metav1.LabelSelector) (out []corev1.TopologySpreadConstraint) {
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		out = append(out, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector,
		})
	}
	return out
}

package daemon

import (
	"fmt"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/daemon"
)

const (
	// port serves /healthz, /readyz and /metrics.
	port     = 8080
	portName = "http"
	// user is the user of the image. It is set here too, so that an image that runs as root is
	// refused.
	user = 65532
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
	return &appsv1.Deployment{
		TypeMeta: kind("apps/v1", "Deployment"), ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: &o.replicas, Selector: selector,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: o.name, EnableServiceLinks: new(false), TerminationGracePeriodSeconds: new(int64(grace)),
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: new(true), RunAsUser: new(int64(user)), RunAsGroup: new(int64(user)),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					TopologySpreadConstraints: spread(selector),
					Containers:                []corev1.Container{o.container(meta.Namespace, shard)},
				},
			},
		},
	}
}

func (o options) container(namespace string, shard daemon.Shard) corev1.Container {
	return corev1.Container{
		Name: "daemon", Image: o.image, Args: o.args(namespace, shard),
		// These name the daemon's process for another process that wants to drive a cluster of the daemon.
		Env: []corev1.EnvVar{
			{Name: "USER", Value: "kubectl-tidb"}, {Name: "HOME", Value: "/"},
			{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		},
		Ports:          []corev1.ContainerPort{{Name: portName, ContainerPort: port}},
		ReadinessProbe: probe("/readyz", 5),
		LivenessProbe:  probe("/healthz", 20),
		// There is no CPU limit: a process that is throttled while it holds a lease delays the
		// clusters.
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
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

package render

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// component is what rendering must know about one component, as data. The same code makes the objects of all
// components from it.
type component struct {
	topology.Group
	cluster   topology.Cluster
	spec      v1alpha1.ComponentAccessor
	creation  appsv1.PodManagementPolicyType // of pods
	resources corev1.ResourceRequirements
	account   string // service account

	// documents are those in the ConfigMap. Where there are none, and the scripts are inline, there is
	// no ConfigMap.
	documents []document
	// script is the start script in the ConfigMap. Where inline has scripts there is none.
	script  script
	start   string // the path of that script
	inline  []inline
	metrics metrics
	// annotations of pods, which the user's override.
	annotations map[string]string

	services []*corev1.Service
	claims   []corev1.PersistentVolumeClaim

	ports  []corev1.ContainerPort
	env    []corev1.EnvVar
	mounts []corev1.VolumeMount // all of the main container, in order
	// shared returns the first volumes, of which some have the ConfigMap of the given name.
	shared  func(comp component, configMap string) []corev1.Volume
	volumes []corev1.Volume // between the shared volumes and the user's own
	// ownVolumes: the pods have no volumes of the user, as with tidb-operator.
	ownVolumes bool
	// last returns the volumes after the user's own; nil for none.
	last      func(comp component, configMap string) []corev1.Volume
	readiness *corev1.Probe
	startup   *corev1.Probe
	lifecycle *corev1.Lifecycle
	security  *corev1.SecurityContext
	init      []corev1.Container // before the user's own
	logs      []tailer           // before the main container, or after it with logsLast
	logsLast  bool
	sysctl    string // name of the init container that sets kernel parameters, "" for none
	claimsAt  string // field of the component's spec with its claims, besides the claim of requests
	live      *appsv1.StatefulSet
	kept      *corev1.PodTemplateSpec // of a newer version; nil if ours is wanted
	founding  founding
	findings  []desired.Notice
	// refused are fields of the spec that do not fit what exists.
	refused field.ErrorList
}

// document is a config file in the ConfigMap.
type document struct {
	key    string
	file   string                // its name in a pod, e.g. "pd.toml"
	config *config.GenericConfig // the user's, with the keys that the cluster forces
	// operators is what tidb-operator writes for the same spec, where that differs; nil where it does not. A document
	// that is in use and equal to it stays until the spec changes.
	operators *config.GenericConfig
}

// configure gives a component its only config file.
func (comp *component) configure(c *config.GenericConfig) {
	comp.documents = []document{{key: keyConfig, file: string(comp.Kind) + ".toml", config: c}}
}

// metrics is where Prometheus reads a component's metrics.
type metrics struct {
	port int32
	path string // "/metrics" if it is ""
}

// founding is how the pods of a component learn whether they start a TiDB cluster or
// join one.
type founding int

const (
	// foundsNothing: they do neither.
	foundsNothing founding = iota
	// byBootstrapMap: from the ConfigMap that is written for it.
	byBootstrapMap
	// byDiscoveryServer: from the server that an operator runs. Our start script does not ask it.
	byDiscoveryServer
)

// base returns the part that follows from the names alone.
func base(c topology.Cluster, g topology.Group, spec v1alpha1.ComponentAccessor) component {
	return component{
		Group:   g,
		cluster: c,
		spec:    spec,

		creation: spec.PodManagementPolicy(),
		start:    dirScript + "/" + string(g.Kind) + "_start_script.sh",
		shared:   sharedVolumes,
		security: spec.SecurityContext(),
		sysctl:   "init", claimsAt: "storageVolumes",
	}
}

// privilege sets the security context of a component whose older field says only whether its container is privileged.
// As with tidb-operator, that field counts only without a security context.
func (comp *component) privilege(privileged *bool) {
	if comp.security == nil {
		comp.security = &corev1.SecurityContext{Privileged: privileged}
	}
}

func firstGiven(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

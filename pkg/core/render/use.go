package render

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// usage is the ConfigMap that a component's pods use.
type usage struct {
	name string // "" where there are no pods
	// found is nil when the ConfigMap does not exist.
	found *corev1.ConfigMap
	// mounted is true if pods mount it, or will as soon as Kubernetes creates them.
	mounted bool
}

// inUse returns the ConfigMap that the component's pods use, as the StatefulSet names it, else as
// its pods do. Else it is the ConfigMap whose name an operator has recorded before it deleted the
// StatefulSet.
func inUse(c topology.Cluster, k topology.Kind, have state.Existing) usage {
	if spec := have.PodSpec(k); spec != nil {
		if name := mountedConfigMap(spec, c.SetName(k)); name != "" {
			return usage{name: name, found: have.ConfigMaps[name], mounted: true}
		}
		return usage{}
	}
	name := c.Source.Annotations[annNameBefore+string(k)]
	if m := have.ConfigMaps[name]; m != nil {
		return usage{name: name, found: m}
	}
	return usage{}
}

// mountedConfigMap returns the first ConfigMap of a pod whose name begins with the component's. The
// name of the discovery ConfigMap does not.
func mountedConfigMap(pod *corev1.PodSpec, prefix string) string {
	for _, v := range pod.Volumes {
		if v.ConfigMap != nil && strings.HasPrefix(v.ConfigMap.Name, prefix) {
			return v.ConfigMap.Name
		}
	}
	return ""
}

// ConfigMaps returns the names of the ConfigMaps that must be read, whatever owner and labels they
// have. These are the ConfigMaps that pods use and, where there are no pods, those that are about
// to be created.
func ConfigMaps(c topology.Cluster, have state.Existing) []string {
	var names []string
	for _, g := range c.Groups {
		if name := c.HelmMap(g.Kind); name != "" && !g.Configured {
			names = append(names, name)
		}
		switch spec := have.PodSpec(g.Kind); {
		case spec != nil:
			if name := mountedConfigMap(spec, c.SetName(g.Kind)); name != "" {
				names = append(names, name)
			}
		case !c.Paused && !g.Suspend:
			names = append(names, c.SetName(g.Kind))
			if name := c.Source.Annotations[annNameBefore+string(g.Kind)]; name != "" {
				names = append(names, name)
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { // an annotation may have any text
		return len(validation.IsDNS1123Subdomain(name)) > 0
	})
}

// ofOthers reports whether a ConfigMap was made for the cluster by others: a person, a Helm chart.
// Without a controller the labels show it: the TidbCluster may have been deleted without its
// objects.
func ofOthers(c topology.Cluster, m *corev1.ConfigMap) bool {
	if owner := metav1.GetControllerOf(m); owner != nil {
		return owner.Kind != "TidbCluster" || owner.Name != c.Name
	}
	return !covers(m.Labels, c.Selector())
}

// handOver returns what a person can do so that a ConfigMap of others becomes one of the cluster.
func handOver(c topology.Cluster, k topology.Kind, name string) remedy.Action {
	label := func(key, value string) string { return key + "=" + value }
	return remedy.Run("hand ConfigMap "+name+" over", c.Kubectl("label", "configmap", name,
		label(topology.LabelName, c.Selector()[topology.LabelName]), label(topology.LabelManagedBy, c.Selector()[topology.LabelManagedBy]),
		label(topology.LabelInstance, c.Instance), label(topology.LabelComponent, string(k))))
}

// lost returns the gate for a ConfigMap that is gone and whose content is not known. Running pods
// still have it.
func lost(comp component, name string, got state.Group) desired.Lack {
	c, k := comp.cluster, comp.Kind
	g := desired.Lack{
		Need: desired.MountedConfigMap, Want: fmt.Sprintf("ConfigMap %s exists", name),
		Observed: fmt.Sprintf("ConfigMap %s does not exist, and pods that start wait for it", name),
		Remedy:   remedy.Remedy{remedy.Say("make it again with its keys " + strings.Join(comp.keys(), " and "))},
	}
	for _, m := range got.Members {
		if m.Pod == nil || m.Pod.Started.IsZero() || len(comp.inline) > 0 {
			continue
		}
		read := func(file, key string) remedy.Command {
			return c.Kubectl("exec", m.Name, "-c", string(k), "--", "cat", file).Writing(key)
		}
		g.Remedy = remedy.Remedy{remedy.Run("make it again from what a pod still has",
			read(path.Join(comp.configDir(), comp.documents[0].file), keyConfig),
			read(comp.start, keyScript),
			c.Kubectl("create", "configmap", name, "--from-file="+keyConfig, "--from-file="+keyScript))}
		break
	}
	return g
}

// keys returns the keys of the component's ConfigMap.
func (comp component) keys() []string {
	var keys []string
	for _, d := range comp.documents {
		keys = append(keys, d.key)
	}
	if len(comp.inline) == 0 {
		keys = append(keys, keyScript)
	}
	return keys
}

// configDir returns the directory of the config file in the main container.
func (comp component) configDir() string {
	for _, m := range comp.mounts {
		if m.Name == volumeConfig {
			return m.MountPath
		}
	}
	return ""
}

func (comp component) configField() *field.Path {
	return topology.FieldOf(comp.cluster.Source, comp.Kind).Child("config")
}

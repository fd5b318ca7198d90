package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// annNameBefore on the TidbCluster names the ConfigMap that was in use when an
// operator deleted the StatefulSet, keeping its pods, to make it anew.
const annNameBefore = "tidb.pingcap.com/configmap-name-before-delete-"

// configMap is the ConfigMap of a component: its config file and start script.
// The data in use is kept where it says the same, so that nothing is written,
// and no pod restarted, for another way of saying it.
func configMap(comp component, have Existing) (*corev1.ConfigMap, field.ErrorList, error) {
	text, err := encode(comp.config)
	if err != nil {
		return nil, nil, err
	}
	name, used := inUse(comp.cluster, comp.Kind, have)
	script, refused, err := startScript(comp, used, have)
	if err != nil {
		return nil, nil, err
	}
	if used != nil && sameTOML(used.Data[keyConfig], text) {
		text = used.Data[keyConfig]
	}
	c := comp.cluster
	m := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: meta(c, c.SetName(comp.Kind), c.Labels(comp.Kind)),
		Data:       map[string]string{keyConfig: text, keyScript: script},
	}
	switch s := comp.spec.ConfigUpdateStrategy(); s {
	case v1alpha1.ConfigUpdateStrategyInPlace:
		m.Name = first(name, m.Name)
	case v1alpha1.ConfigUpdateStrategyRollingUpdate:
		m.Name = rollingName(m, used, have)
	default:
		return nil, nil, fmt.Errorf("unknown config update strategy %q", s)
	}
	return m, refused, nil
}

// inUse finds the ConfigMap that the component's pods use, by name, and itself
// where it exists.
func inUse(c topology.Cluster, k topology.Kind, have Existing) (string, *corev1.ConfigMap) {
	name := c.Source.Annotations[annNameBefore+string(k)]
	if live := have.Sets[k]; live != nil {
		name = mountedConfigMap(live, c.SetName(k))
	} else if have.ConfigMaps[name] == nil {
		return "", nil
	}
	return name, have.ConfigMaps[name]
}

// mountedConfigMap is the first ConfigMap of a pod template whose name begins
// with the component's. The discovery ConfigMap's does not.
func mountedConfigMap(set *appsv1.StatefulSet, prefix string) string {
	for _, v := range set.Spec.Template.Spec.Volumes {
		if v.ConfigMap != nil && strings.HasPrefix(v.ConfigMap.Name, prefix) {
			return v.ConfigMap.Name
		}
	}
	return ""
}

// startScript is the script in use as long as it fits, else our own. Pods of PD
// that ask an operator's discovery server have to keep the operator's script:
// ours would not know whom to ask.
func startScript(comp component, used *corev1.ConfigMap, have Existing) (string, field.ErrorList, error) {
	if used != nil && comp.script.fits(used.Data[keyScript]) {
		return used.Data[keyScript], nil, nil
	}
	text, err := comp.script.text()
	if err != nil {
		return "", nil, err
	}
	var refused field.ErrorList
	if comp.Kind == topology.PD && used != nil && used.Data[keyScript] != "" && !bootstraps(comp.cluster, have) {
		refused = append(refused, field.Forbidden(field.NewPath("spec", "pd", "dataSubDir"),
			"the pods of PD were started with other values by an operator's start script, which can not be replaced"))
	}
	return text, refused, nil
}

// rollingName names the ConfigMap by its content, so that other content means
// other pods.
func rollingName(m, used *corev1.ConfigMap, have Existing) string {
	if used != nil && used.Data[keyConfig] == m.Data[keyConfig] && used.Data[keyScript] == m.Data[keyScript] {
		return used.Name
	}
	if former := formerName(m, have); former != "" {
		m.Data[keyConfig] = have.ConfigMaps[former].Data[keyConfig]
		return former
	}
	name := m.Name + "-" + digest(m.Data)
	// The digest is short, so that other content may have the same one. Pods
	// may still use it: it is not overwritten.
	for taken(have.ConfigMaps[name], m.Data) {
		name += "-new"
	}
	return name
}

// formerName names a ConfigMap that says the same, if in other words: the user has
// taken a change back half-way, and pods that still have the former one must not
// restart for the words.
func formerName(m *corev1.ConfigMap, have Existing) string {
	for _, name := range slices.Sorted(maps.Keys(have.ConfigMaps)) {
		f := have.ConfigMaps[name]
		if strings.HasPrefix(name, m.Name+"-") && f.Data[keyScript] == m.Data[keyScript] &&
			f.Data[keyConfig] != "" && sameTOML(f.Data[keyConfig], m.Data[keyConfig]) {
			return name
		}
	}
	return ""
}

func taken(m *corev1.ConfigMap, data map[string]string) bool {
	return m != nil && (m.Data[keyConfig] != data[keyConfig] || m.Data[keyScript] != data[keyScript])
}

// digest is the operator's: the SHA-256 of the data as JSON, in hexadecimal
// digits, as text that is written in hexadecimal digits again, of which the
// first seven are taken.
func digest(data map[string]string) string {
	text, err := json.Marshal(data)
	if err != nil {
		panic("render: encode strings: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString([]byte(hex.EncodeToString(sum[:])))[:7]
}

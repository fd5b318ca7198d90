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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// annNameBefore on the TidbCluster names a ConfigMap that was in use. An operator then deleted the StatefulSet,
// keeping its pods, to recreate it.
const annNameBefore = "tidb.pingcap.com/configmap-name-before-delete-"

// configured is the ConfigMap of a component: the name that its pods use, and what
// to write.
type configured struct {
	name string
	// wanted is nil where the ConfigMap is left as it is.
	wanted *corev1.ConfigMap
	// mounted is true if pods use it already.
	mounted bool
	refused field.ErrorList
	remedy  remedy.Remedy // for a refusal
	lacks   []desired.Lack
	// findings are settings in use that are not asked for.
	findings []desired.Notice
}

// configMap returns the ConfigMap of a component: its config file and start script. Data in use
// with the same meaning is kept, so that nothing is written, and no pod restarted, because of
// another form. If the spec has no configuration, the one in use stays, whatever it is, and so do
// settings of a restore.
func configMap(comp component, have state.Existing, got state.Group) (configured, error) {
	if len(comp.documents) == 0 && len(comp.inline) > 0 {
		return configured{}, nil
	}
	use := inUse(comp.cluster, comp.Kind, have)
	if other, ok := leftAlone(comp, use, have, got); ok {
		return other, nil
	}
	result, data, err := content(comp, use.found)
	if err != nil {
		return configured{}, err
	}
	c := comp.cluster
	m := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: meta(c, c.SetName(comp.Kind), c.Labels(comp.Kind)),
		Data:       data,
	}
	switch s := comp.spec.ConfigUpdateStrategy(); {
	case comp.InPlace, use.mounted && use.found == nil:
		m.Name = firstGiven(use.name, m.Name)
	case s == v1alpha1.ConfigUpdateStrategyRollingUpdate:
		m.Name = rollingName(m, use.found, have)
	default:
		return configured{}, fmt.Errorf("unknown config update strategy %q", s)
	}
	result.name, result.wanted, result.mounted = m.Name, m, use.mounted && m.Name == use.name
	if there := have.ConfigMaps[m.Name]; there != nil && ofOthers(c, there) {
		result.wanted = nil
		if taken(there, m.Data) {
			result.refused = append(result.refused, field.Forbidden(comp.configField(),
				fmt.Sprintf("ConfigMap %s is not labelled as one of this cluster, and is not overwritten", m.Name)))
			result.remedy = remedy.Remedy{handOver(c, comp.Kind, m.Name)}
		}
	}
	return result, nil
}

// content returns the data of a ConfigMap, and what is to be reported about it.
func content(comp component, used *corev1.ConfigMap) (said configured, data map[string]string, err error) {
	data = map[string]string{}
	for _, d := range comp.documents {
		config, err := overlaid(d.config, used)
		if err != nil {
			return said, nil, err
		}
		if data[d.key], err = encode(config); err != nil {
			return said, nil, err
		}
	}
	said.findings = notAsked(comp, used, data)
	if len(comp.inline) == 0 {
		if data[keyScript], said.refused, err = startScript(comp, used); err != nil {
			return said, nil, err
		}
	}
	if used == nil {
		return said, data, nil
	}
	for _, d := range comp.documents {
		same, err := d.sameMeaning(used.Data[d.key], data[d.key])
		if err != nil {
			return said, nil, err
		}
		if !comp.Configured || same {
			data[d.key] = used.Data[d.key]
		}
	}
	if over := used.Data[keyOverlay]; over != "" {
		data[keyOverlay] = over
	}
	return said, data, nil
}

// sameMeaning reports whether a text that is in use means what is wanted. The text may also mean what tidb-operator
// writes for the same spec.
func (d document) sameMeaning(used, wanted string) (bool, error) {
	if sameTOML(used, wanted) || d.operators == nil {
		return sameTOML(used, wanted), nil
	}
	text, err := encode(d.operators)
	return err == nil && sameTOML(used, text), err
}

// leftAlone reports whether the ConfigMap that pods use is not to be written. A newer version of this tool may
// have written it for the same spec. Others may have made it while the spec has no configuration. Or it is gone
// and its content is not known.
func leftAlone(comp component, use usage, have state.Existing, got state.Group) (configured, bool) {
	c, k := comp.cluster, comp.Kind
	if comp.kept != nil {
		return ofNewer(comp, use, got), true
	}
	if name := c.HelmMap(k); name != "" && !comp.Configured {
		return ofHelm(comp, name, use, have, got), true
	}
	switch {
	case use.mounted && use.found == nil && (!comp.Configured || comp.founding == byDiscoveryServer):
		// Our start script does not ask an operator's discovery server.
		return configured{name: use.name, lacks: []desired.Lack{lost(comp, use.name, got)}}, true
	case comp.Configured:
		return configured{}, false
	case use.found != nil && ofOthers(c, use.found):
		return configured{name: use.name}, true
	}
	there := have.ConfigMaps[c.SetName(k)]
	if use.name != "" || there == nil || !ofOthers(c, there) {
		return configured{}, false
	}
	return forFirstPods(comp, there), true
}

// ofNewer uses what a newer version has written. This version does not know its start
// script, and cannot write it again.
func ofNewer(comp component, use usage, got state.Group) configured {
	result := configured{name: use.name}
	if use.mounted && use.found == nil {
		result.lacks = []desired.Lack{lost(comp, use.name, got)}
	}
	return result
}

// forFirstPods uses a ConfigMap that others have made for pods that do not exist yet.
func forFirstPods(comp component, there *corev1.ConfigMap) configured {
	result := configured{name: there.Name}
	refuse := func(why string) {
		result.refused = field.ErrorList{field.Invalid(comp.configField(), field.OmitValueType{}, fmt.Sprintf(
			"without it the pods use ConfigMap %s as it is, %s: write config: {} to have one made", there.Name, why))}
	}
	switch script, ok := there.Data[keyScript]; {
	case len(comp.inline) > 0:
	case !ok:
		refuse("which has no " + keyScript)
	case comp.founding != foundsNothing && !strings.Contains(script, mark):
		refuse("whose " + keyScript + " does not know how PD begins here")
	}
	return result
}

// ofHelm uses the ConfigMap that an annotation names. Another one restarts the pods, as with
// tidb-operator.
func ofHelm(comp component, name string, use usage, have state.Existing, got state.Group) configured {
	switch there := have.ConfigMaps[name]; {
	case there == nil:
		return configured{name: firstGiven(use.name, name), lacks: []desired.Lack{lost(comp, name, got)}}
	case use.name == "":
		return forFirstPods(comp, there)
	}
	return configured{name: name}
}

// startScript returns the script in use as long as it fits, else our own. Pods of PD that ask an
// operator's discovery server must keep the operator's script: ours does not ask that server.
func startScript(comp component, used *corev1.ConfigMap) (string, field.ErrorList, error) {
	if used != nil && comp.script.startsAsWanted(used.Data[keyScript]) {
		return used.Data[keyScript], nil, nil
	}
	text, err := comp.script.text()
	if err != nil {
		return "", nil, err
	}
	var refused field.ErrorList
	if comp.founding == byDiscoveryServer && used != nil && used.Data[keyScript] != "" {
		refused = append(refused, field.Forbidden(field.NewPath("spec", string(comp.Kind), "dataSubDir"),
			"the pods of PD were started with other values by an operator's start script, which can not be replaced"))
	}
	return text, refused, nil
}

// rollingName returns a name of the ConfigMap that contains a digest of its content. So another content restarts
// the pods.
func rollingName(m, used *corev1.ConfigMap, have state.Existing) string {
	if used != nil && !taken(used, m.Data) {
		return used.Name
	}
	if former := formerName(m, have); former != nil {
		for key := range m.Data {
			if key != keyOverlay {
				m.Data[key] = former.Data[key]
			}
		}
		return former.Name
	}
	name := m.Name + "-" + digest(m.Data)
	// The digest is short, so that other content may have the same one. Pods
	// may still use it: it is not overwritten.
	for taken(have.ConfigMaps[name], m.Data) {
		name += "-new"
	}
	return name
}

// formerName returns a ConfigMap with the same meaning and another text. If the user takes a change back, pods
// that still have the former ConfigMap must not restart because of the text.
func formerName(m *corev1.ConfigMap, have state.Existing) *corev1.ConfigMap {
	for _, name := range slices.Sorted(maps.Keys(have.ConfigMaps)) {
		f := have.ConfigMaps[name]
		if strings.HasPrefix(name, m.Name+"-") && sameMeaning(f.Data, m.Data) {
			return f
		}
	}
	return nil
}

// sameMeaning reports whether two ConfigMaps have the same start script, and configurations that mean
// the same.
func sameMeaning(a, b map[string]string) bool {
	for key := range b {
		of, there := a[key] // an empty configuration is one
		switch {
		case key == keyOverlay:
		case !there, key == keyScript && of != b[key], key != keyScript && !sameTOML(of, b[key]):
			return false
		}
	}
	return true
}

// taken reports whether a ConfigMap has other data.
func taken(m *corev1.ConfigMap, data map[string]string) bool {
	if m == nil {
		return false
	}
	for key := range data {
		if key != keyOverlay && m.Data[key] != data[key] {
			return true
		}
	}
	return false
}

// digest returns the digest that the operator computes. It is the SHA-256 of the data as JSON, written twice in
// hexadecimal digits, cut to the first seven digits.
func digest(data map[string]string) string {
	text, err := json.Marshal(data)
	if err != nil {
		panic("render: encode strings: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString([]byte(hex.EncodeToString(sum[:])))[:7]
}

package intent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Lost lists settings that a component will not get. The API types read a configuration that is
// written as an object into structs of an old release, and silently drop the keys that these do not
// have; an operator does the same, so rendering them would restart pods each time the driver
// changes. As text in TOML a configuration is kept as it is.
func (m *Manifest) Lost() []string {
	var lost []string
	for component, read := range m.configs() {
		written, ok, _ := unstructured.NestedMap(m.object.Object, "spec", component, "config")
		if !ok {
			continue // text, or none
		}
		for _, key := range missing(written, read.MP, "") {
			lost = append(lost, fmt.Sprintf("spec.%s.config[%s] has no effect: as an object, config takes only keys of an old release; "+
				"write the config as text in TOML", component, key))
		}
	}
	slices.Sort(lost)
	return lost
}

func (m *Manifest) configs() map[string]*config.GenericConfig {
	spec, all := m.Cluster.Spec, map[string]*config.GenericConfig{}
	if spec.PD != nil && spec.PD.Config != nil && spec.PD.Config.GenericConfig != nil {
		all["pd"] = spec.PD.Config.GenericConfig
	}
	if spec.TiKV != nil && spec.TiKV.Config != nil && spec.TiKV.Config.GenericConfig != nil {
		all["tikv"] = spec.TiKV.Config.GenericConfig
	}
	if spec.TiDB != nil && spec.TiDB.Config != nil && spec.TiDB.Config.GenericConfig != nil {
		all["tidb"] = spec.TiDB.Config.GenericConfig
	}
	return all
}

// missing returns the settings of a configuration that another one does not have, by their path. An
// empty table does not count.
func missing(written, read map[string]any, at string) []string {
	// JSON and TOML write some names differently: log-level and logLevel.
	has := map[string]any{}
	for key, value := range read {
		has[bare(key)] = value
	}
	var lost []string
	for key, value := range written {
		got, ok := has[bare(key)]
		table, nested := value.(map[string]any)
		switch {
		case nested:
			inner, _ := got.(map[string]any)
			lost = append(lost, missing(table, inner, at+key+".")...)
		case !ok && value != nil:
			lost = append(lost, at+key)
		}
	}
	return lost
}

func bare(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
}

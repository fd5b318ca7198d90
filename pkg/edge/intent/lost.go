package intent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Lost lists settings that a component will not get. The API types read a configuration that is written as an object
// into structs of an old release. Keys that these structs do not have are silently dropped. An operator does the
// same, so rendering such keys would restart pods each time the driver changes. As text in TOML a configuration is
// kept as it is.
func (m *Manifest) Lost() []string {
	var lost []string
	for _, c := range m.configs() {
		written, ok, _ := unstructured.NestedMap(m.object.Object, c.field...)
		if !ok || c.read == nil {
			continue // text, or none
		}
		for _, key := range missing(written, c.read.MP, "") {
			lost = append(lost, fmt.Sprintf("%s[%s] has no effect: as an object, %s takes only keys of an old release; "+
				"write the %[3]s as text in TOML", strings.Join(c.field, "."), key, c.field[len(c.field)-1]))
		}
	}
	slices.Sort(lost)
	return lost
}

// configuration is what was read of a configuration, and the path of its field.
type configuration struct {
	field []string
	read  *config.GenericConfig
}

// configs returns the configurations that are in the spec and of which keys may be dropped. The API types keep all keys
// of Pump's configuration.
func (m *Manifest) configs() []configuration {
	spec := m.Cluster.Spec
	var all []configuration
	add := func(read *config.GenericConfig, component string, field ...string) {
		all = append(all, configuration{field: append([]string{"spec", component, "config"}, field...), read: read})
	}
	if spec.PD != nil && spec.PD.Config != nil {
		add(spec.PD.Config.GenericConfig, "pd")
	}
	if spec.TiKV != nil && spec.TiKV.Config != nil {
		add(spec.TiKV.Config.GenericConfig, "tikv")
	}
	if spec.TiDB != nil && spec.TiDB.Config != nil {
		add(spec.TiDB.Config.GenericConfig, "tidb")
	}
	if spec.TiProxy != nil && spec.TiProxy.Config != nil {
		add(spec.TiProxy.Config.GenericConfig, "tiproxy")
	}
	if spec.TiCDC != nil && spec.TiCDC.Config != nil {
		add(spec.TiCDC.Config.GenericConfig, "ticdc")
	}
	if spec.TiFlash != nil && spec.TiFlash.Config != nil {
		if common := spec.TiFlash.Config.Common; common != nil {
			add(common.GenericConfig, "tiflash", "config")
		}
		if proxy := spec.TiFlash.Config.Proxy; proxy != nil {
			add(proxy.GenericConfig, "tiflash", "proxy")
		}
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
		if !ok {
			got, ok = has[renamed[bare(key)]]
		}
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

// renamed has the names in TOML of the keys that the API types call otherwise in JSON.
var renamed = map[string]string{
	"timezone": "tz", // of TiCDC
	// Of PD.
	"schedulersv2": "schedulers", "autocompactionretentionv2": "autocompactionretention", "tikvinterval": "tickinterval",
	"aggpushdownjoin": "distinctaggpushdown", // of TiDB
}

func bare(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
}

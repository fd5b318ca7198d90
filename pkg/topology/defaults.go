package topology

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1/defaulting"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	corev1 "k8s.io/api/core/v1"
)

// Defaults that the schema of the CustomResourceDefinition gives. An API server
// has applied them to every TidbCluster that it hands out; a manifest from a
// file has not seen one, and must render to the same objects.
const (
	pdImage        = "pingcap/pd"
	tikvImage      = "pingcap/tikv"
	tidbImage      = "pingcap/tidb"
	pdStartTimeout = 30
)

// logBackups is the number of old log files that TiDB keeps where the user does
// not say otherwise.
const logBackups = 3

// setDefaults fills in what the user left out.
func setDefaults(tc *v1alpha1.TidbCluster) {
	setSchemaDefaults(&tc.Spec)
	setEmptyConfigs(&tc.Spec)

	// The default of TiDB's log files is set apart from the others, because
	// the API module panics where the user's "log" is not a table. That is for
	// Validate to say.
	tidb := tc.Spec.TiDB
	var own *v1alpha1.TiDBConfigWraper
	if tidb != nil {
		own, tidb.Config = tidb.Config, nil
	}
	defaulting.SetTidbClusterDefault(tc)
	if tidb != nil {
		tidb.Config = own
		if notTable(own.MP, "log", "file") == "" {
			own.SetIfNil("log.file.max-backups", int64(logBackups))
		}
	}
}

func setSchemaDefaults(spec *v1alpha1.TidbClusterSpec) {
	if pd := spec.PD; pd != nil {
		setString(&pd.BaseImage, pdImage)
		if pd.StartTimeout == 0 {
			pd.StartTimeout = pdStartTimeout
		}
		setProtocols(&pd.ComponentSpec)
	}
	for i, ms := range spec.PDMS {
		// Not only the schema's default: the API module's own defaulting
		// panics without a base image, and without an entry.
		if ms == nil {
			ms = &v1alpha1.PDMSSpec{}
			spec.PDMS[i] = ms
		}
		if ms.BaseImage == nil {
			image := pdImage
			ms.BaseImage = &image
		}
	}
	if kv := spec.TiKV; kv != nil {
		setString(&kv.BaseImage, tikvImage)
		setProtocols(&kv.ComponentSpec)
	}
	if db := spec.TiDB; db != nil {
		setString(&db.BaseImage, tidbImage)
		setProtocols(&db.ComponentSpec)
		if db.Service != nil {
			for i := range db.Service.AdditionalPorts {
				setProtocol(&db.Service.AdditionalPorts[i].Protocol)
			}
		}
	}
}

func setString(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

func setProtocols(spec *v1alpha1.ComponentSpec) {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.AdditionalContainers} {
		for i := range list {
			for j := range list[i].Ports {
				setProtocol(&list[i].Ports[j].Protocol)
			}
		}
	}
}

func setProtocol(p *corev1.Protocol) {
	if *p == "" {
		*p = corev1.ProtocolTCP
	}
}

// setEmptyConfigs makes a missing config an empty one. The operator makes no
// ConfigMap without a config, and the pods then wait for it for ever.
func setEmptyConfigs(spec *v1alpha1.TidbClusterSpec) {
	if pd := spec.PD; pd != nil && (pd.Config == nil || pd.Config.GenericConfig == nil) {
		pd.Config = &v1alpha1.PDConfigWraper{GenericConfig: config.New(nil)}
	}
	if kv := spec.TiKV; kv != nil && (kv.Config == nil || kv.Config.GenericConfig == nil) {
		kv.Config = &v1alpha1.TiKVConfigWraper{GenericConfig: config.New(nil)}
	}
	if db := spec.TiDB; db != nil && (db.Config == nil || db.Config.GenericConfig == nil) {
		db.Config = &v1alpha1.TiDBConfigWraper{GenericConfig: config.New(nil)}
	}
	for _, c := range configs(spec) {
		if c.MP == nil {
			c.MP = map[string]any{}
		}
	}
}

// configs are the configurations in a spec that has a config per component.
func configs(spec *v1alpha1.TidbClusterSpec) map[Kind]*config.GenericConfig {
	all := map[Kind]*config.GenericConfig{}
	if spec.PD != nil {
		all[PD] = spec.PD.Config.GenericConfig
	}
	if spec.TiKV != nil {
		all[TiKV] = spec.TiKV.Config.GenericConfig
	}
	if spec.TiDB != nil {
		all[TiDB] = spec.TiDB.Config.GenericConfig
	}
	return all
}

// notTable walks down the tables of a configuration and names the first step
// that is there but not a table; "" when there is none.
func notTable(config map[string]any, path ...string) string {
	name := ""
	for _, key := range path {
		if name != "" {
			name += "."
		}
		name += key
		value, ok := config[key]
		if !ok {
			return ""
		}
		if config, ok = value.(map[string]any); !ok {
			return name
		}
	}
	return ""
}

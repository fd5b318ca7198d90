package topology

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1/defaulting"
	corev1 "k8s.io/api/core/v1"
)

// Defaults that the schema of the CustomResourceDefinition gives. An API server has applied these
// defaults to every TidbCluster that it returns. A manifest from a file does not have them, and
// must render to the same objects.
const (
	pdImage        = "pingcap/pd"
	tiproxyImage   = "pingcap/tiproxy"
	tikvImage      = "pingcap/tikv"
	tiflashImage   = "pingcap/tiflash"
	tidbImage      = "pingcap/tidb"
	ticdcImage     = "pingcap/ticdc"
	pumpImage      = "pingcap/tidb-binlog"
	PDStartTimeout = 30
)

// logBackups is the default number of old log files that TiDB keeps.
const logBackups = 3

// setDefaults fills in what the user left out.
func setDefaults(tc *v1alpha1.TidbCluster) {
	for _, r := range readings {
		spec, ok := r.spec(tc)
		if !ok {
			continue
		}
		setProtocols(spec.ComponentSpec)
		r.defaults(tc)
		// The operator makes no ConfigMap without a config, and the pods then wait for
		// it for ever.
		c, _ := r.spec(tc)
		for _, config := range c.configs {
			if config.MP == nil {
				config.MP = map[string]any{}
			}
		}
	}
	setDefaultsPDMS(tc.Spec.PDMS)

	// The default of TiDB's log files is set separately. The API module panics where the user's
	// "log" is not a table. Validate reports that.
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

// setDefaultsPDMS sets the schema's default, and more. The API module's own defaulting panics
// without a base image, and without an entry.
func setDefaultsPDMS(all []*v1alpha1.PDMSSpec) {
	for i, ms := range all {
		if ms == nil {
			ms = &v1alpha1.PDMSSpec{}
			all[i] = ms
		}
		if ms.BaseImage == nil {
			image := pdImage
			ms.BaseImage = &image
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

// notTable follows a path through the tables of a configuration. It returns the first part that is
// not a table; "" when there is none.
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

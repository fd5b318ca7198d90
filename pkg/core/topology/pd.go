package topology

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

var readPD = reading{
	kind: PD,
	spec: func(tc *v1alpha1.TidbCluster) (component, bool) {
		pd := tc.Spec.PD
		if pd == nil {
			return component{}, false
		}
		c := component{
			ComponentSpec: &pd.ComponentSpec, whole: pd, accessor: tc.BasePDSpec(), image: tc.PDImage(), baseImage: &pd.BaseImage,
			replicas: &pd.Replicas, disks: []disk{{volume: string(PD), requests: pd.Requests, at: field.NewPath("spec", "pd")}}, volumes: pd.StorageVolumes, class: &pd.StorageClassName, attributes: pd.VolumeAttributesClassName,
			subDir: pd.DataSubDir, failovers: pd.MaxFailoverCount,
		}
		if pd.Config != nil {
			c.configs = listOf(pd.Config.GenericConfig)
		}
		return c, true
	},
	defaults: func(tc *v1alpha1.TidbCluster) {
		pd := tc.Spec.PD
		setString(&pd.BaseImage, pdImage)
		if pd.StartTimeout == 0 {
			pd.StartTimeout = PDStartTimeout
		}
		if pd.Config == nil || pd.Config.GenericConfig == nil {
			pd.Config = v1alpha1.NewPDConfig()
		}
	},
	validate:      validatePD,
	acceptedNames: acceptedNames,
	certificates: func(c Cluster) []Certificate {
		pd := c.Source.Spec.PD
		var all []Certificate
		if c.TLS.Members && isTrue(pd.MountClusterClientSecret) {
			all = append(all, c.clientCertificate())
		}
		if c.DashboardTLS() {
			all = append(all, c.sqlClient(pd.TLSClientSecretName))
		}
		return all
	},
	others: func(tc *v1alpha1.TidbCluster) map[string]any {
		if tc.Spec.TiDB == nil || !tc.Spec.TiDB.IsTLSClientEnabled() || tc.SkipTLSWhenConnectTiDB() {
			return nil
		}
		return map[string]any{"tlsClient": tc.Spec.TiDB.TLSClient} // the dashboard connects to TiDB
	},
	warnings: func(old *Cluster, c Cluster, at *field.Path) []Warning {
		return append(ofPDService(c.Written, at.Child("service")), persisted(old, c)...)
	},
	noConfig: `""`,
	instead:  "to remove the whole cluster use kubectl tidb delete",
}

func validatePD(spec v1alpha1.TidbClusterSpec, at *field.Path) field.ErrorList {
	pd := spec.PD
	errs := validateSubDir(pd.DataSubDir, at.Child("dataSubDir"))
	if wrong := notTable(pd.Config.MP, "dashboard"); wrong != "" {
		errs = append(errs, field.Invalid(at.Child("config").Key(wrong), "…", "must be a table"))
	}
	if names := pd.Config.Get("security.cert-allowed-cn"); names != nil {
		if list, err := names.AsStringSlice(); err != nil || len(list) > 1 {
			errs = append(errs, field.Invalid(at.Child("config").Key("security.cert-allowed-cn"), "…", "must be a list of one name: PD takes no more"))
		}
	}
	return errs
}

// validateSubDir keeps PD's data inside its volume. The operator only does that
// for TiKV.
func validateSubDir(dir string, at *field.Path) field.ErrorList {
	if path.IsAbs(dir) || slices.Contains(strings.Split(dir, "/"), "..") {
		return field.ErrorList{field.Invalid(at, dir, "must be a path inside the volume")}
	}
	return nil
}

// ofPDService returns warnings about fields of PD's Service that have no effect, neither here nor
// with tidb-operator. They are not refused, since existing clusters have them.
func ofPDService(tc *v1alpha1.TidbCluster, at *field.Path) []Warning {
	spec := tc.Spec.PD.Service
	if spec == nil {
		return nil
	}
	var warnings []Warning
	if spec.Port != nil {
		warnings = append(warnings, warn(at.Child("port"), fmt.Sprintf("has no effect: PD's Service has port %d", PDClientPort)))
	}
	if len(spec.LoadBalancerSourceRanges) > 0 {
		warnings = append(warnings, warn(at.Child("loadBalancerSourceRanges"), "has no effect: PD's Service takes no restrictions; use a NetworkPolicy"))
	}
	if spec.LoadBalancerClass != nil {
		warnings = append(warnings, warn(at.Child("loadBalancerClass"), "has no effect: PD's Service has the cluster's default class of load balancers"))
	}
	return warnings
}

// persisted returns warnings about settings that PD keeps itself. PD has read these from its file
// when the cluster was bootstrapped.
func persisted(old *Cluster, c Cluster) []Warning {
	if old == nil || old.Source.Status.ClusterID == "" || old.Source.Spec.PD == nil || c.Source.Spec.PD == nil {
		return nil
	}
	was, is := Flat(old.Source.Spec.PD.Config.MP), Flat(c.Source.Spec.PD.Config.MP)
	var warnings []Warning
	for _, key := range slices.Sorted(maps.Keys(is)) {
		_, name, _ := strings.Cut(key, ".")
		if !PD.Keeps(key) || reflect.DeepEqual(was[key], is[key]) {
			continue
		}
		warnings = append(warnings, warn(field.NewPath("spec", "pd", "config").Key(key), "has no effect: PD keeps it since the cluster was made",
			remedy.Run("set it in PD", c.PDCtl(c.PodName(PD, 0), "config set "+name+" "+argument(is[key])))))
	}
	return warnings
}

// argument returns a setting as an argument of pd-ctl.
func argument(value any) string {
	list, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
	}
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ",")
}

// Flat returns a configuration with one key for each setting, e.g.
// "replication.max-replicas".
func Flat(config map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range config {
		table, ok := value.(map[string]any)
		if !ok {
			out[key] = value
			continue
		}
		for name, value := range Flat(table) {
			out[key+"."+name] = value
		}
	}
	return out
}

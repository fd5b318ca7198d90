package topology

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// AnnotationMountConfig on TiFlash's pods, with "true", has the ConfigMap mounted in the main container. Then
// no init container writes a config file for each member.
const AnnotationMountConfig = "tiflash.tidb.pingcap.com/mount-cm-in-tiflash-container"

// AnnotationKeepPorts on a TidbCluster has TiFlash from v7.1 on listen on the ports of earlier
// versions.
const AnnotationKeepPorts = "tidb.pingcap.com/tiflash-710-keep-ports"

var readTiFlash = reading{
	kind: TiFlash,
	spec: func(tc *v1alpha1.TidbCluster) (component, bool) {
		fl := tc.Spec.TiFlash
		if fl == nil {
			return component{}, false
		}
		c := component{
			ComponentSpec: &fl.ComponentSpec, whole: fl, accessor: tc.BaseTiFlashSpec(), image: tc.TiFlashImage(), baseImage: &fl.BaseImage,
			replicas: &fl.Replicas, scale: fl.ScalePolicy, failovers: fl.MaxFailoverCount,
		}
		for i, claim := range fl.StorageClaims {
			at := field.NewPath("spec", "tiflash", "storageClaims").Index(i)
			c.disks = append(c.disks, disk{
				volume: TiFlashVolume(i), requests: claim.Resources.Requests, at: at.Child("resources"),
				class: &fl.StorageClaims[i].StorageClassName, classAt: at.Child("storageClassName"), attributes: claim.VolumeAttributesClassName,
			})
		}
		if fl.Config != nil {
			c.configs = []*config.GenericConfig{commonOf(fl.Config), proxyOf(fl.Config)}
		}
		return c, true
	},
	defaults: func(tc *v1alpha1.TidbCluster) {
		fl := tc.Spec.TiFlash
		setString(&fl.BaseImage, tiflashImage)
		if fl.Config == nil {
			fl.Config = &v1alpha1.TiFlashConfigWraper{}
		}
		fl.Config.Common = &v1alpha1.TiFlashCommonConfigWraper{GenericConfig: commonOf(fl.Config)}
		fl.Config.Proxy = &v1alpha1.TiFlashProxyConfigWraper{GenericConfig: proxyOf(fl.Config)}
	},
	recovery: func(tc *v1alpha1.TidbCluster) recovery {
		fl := tc.Spec.TiFlash
		return recovery{&fl.RecoverFailover, &fl.Failover, tc.Status.TiFlash.FailoverUID}
	},
	unsupported: func(tc *v1alpha1.TidbCluster, refuse func(bool, string, ...string)) {
		refuse(disaggregated(tc.Spec.TiFlash.Config),
			"flash.disaggregated_mode: a TiFlash of write nodes and compute nodes, which keep data in an object store; TiFlash with copies in its own volumes needs no such key", "tiflash", "config")
	},
	validate:      validateTiFlash,
	listens:       tiflashListens,
	acceptedNames: "security.cert_allowed_cn",
	others: func(tc *v1alpha1.TidbCluster) map[string]any {
		if _, keep := tc.Annotations[AnnotationKeepPorts]; keep {
			return map[string]any{"keepPorts": true}
		}
		return nil
	},
	noConfig: `{}`,
	instead:  "to have no TiFlash stores set its replicas to 0",
}

// commonOf returns the configuration of TiFlash itself, proxyOf the configuration of the part that copies regions. Both
// are empty where the user gives none.
func commonOf(c *v1alpha1.TiFlashConfigWraper) *config.GenericConfig {
	if c.Common == nil || c.Common.GenericConfig == nil {
		return config.New(map[string]any{})
	}
	return c.Common.GenericConfig
}

func proxyOf(c *v1alpha1.TiFlashConfigWraper) *config.GenericConfig {
	if c.Proxy == nil || c.Proxy.GenericConfig == nil {
		return config.New(map[string]any{})
	}
	return c.Proxy.GenericConfig
}

func validateTiFlash(spec v1alpha1.TidbClusterSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	fl := spec.TiFlash
	if fl.Replicas > 0 {
		errs = append(errs, validateSource(spec)...)
	}
	for _, table := range [][]string{{"storage", "main"}, {"storage", "raft"}, {"flash", "flash_cluster"}, {"flash", "proxy"}, {"logger"}, {"raft"}, {"security"}} {
		if wrong := notTable(commonOf(fl.Config).MP, table...); wrong != "" {
			errs = append(errs, field.Invalid(at.Child("config").Key(wrong), "…", "must be a table"))
		}
	}
	for _, table := range [][]string{{"server"}, {"security"}} {
		if wrong := notTable(proxyOf(fl.Config).MP, table...); wrong != "" {
			errs = append(errs, field.Invalid(at.Child("config", "proxy").Key(wrong), "…", "must be a table"))
		}
	}
	return append(errs, validateSwitch(fl.Annotations, AnnotationMountConfig, at.Child("annotations"))...)
}

// disaggregated reports whether TiFlash keeps its data in an object store. TiFlash then has two kinds of nodes,
// and one spec has only one kind. Write nodes upload what they have. Compute nodes have no copies and are
// stores of another engine in PD. Neither kind joins or leaves as a store with copies does.
func disaggregated(c *v1alpha1.TiFlashConfigWraper) bool {
	if c == nil || notTable(commonOf(c).MP, "flash") != "" {
		return false
	}
	mode := commonOf(c).Get("flash.disaggregated_mode")
	return mode != nil && mode.Interface() != ""
}

// validateSource refuses TiFlash where there is nothing that it could copy.
func validateSource(spec v1alpha1.TidbClusterSpec) field.ErrorList {
	at := field.NewPath("spec", "tikv")
	switch {
	case spec.TiKV == nil:
		return field.ErrorList{field.Required(at, "TiFlash keeps copies of what TiKV has")}
	case spec.TiKV.Replicas == 0:
		return field.ErrorList{field.Invalid(at.Child("replicas"), 0, "TiFlash keeps copies of what TiKV has")}
	}
	return nil
}

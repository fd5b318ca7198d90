package topology

import (
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var readTiProxy = reading{
	kind: TiProxy,
	spec: func(tc *v1alpha1.TidbCluster) (component, bool) {
		proxy := tc.Spec.TiProxy
		if proxy == nil {
			return component{}, false
		}
		c := component{
			ComponentSpec: &proxy.ComponentSpec, whole: proxy, accessor: tc.BaseTiProxySpec(), image: tc.TiProxyImage(), baseImage: &proxy.BaseImage,
			replicas: &proxy.Replicas, volumes: proxy.StorageVolumes, class: &proxy.StorageClassName, attributes: proxy.VolumeAttributesClassName,
		}
		if proxy.Config != nil {
			c.configs = listOf(proxy.Config.GenericConfig)
		}
		return c, true
	},
	defaults: func(tc *v1alpha1.TidbCluster) {
		proxy := tc.Spec.TiProxy
		setString(&proxy.BaseImage, tiproxyImage)
		if proxy.Config == nil || proxy.Config.GenericConfig == nil {
			proxy.Config = v1alpha1.NewTiProxyConfig()
		}
	},
	validate:  validateTiProxy,
	listens:   tiproxyListens,
	sharesOne: func(c Cluster) bool { return c.TLS.SQL && !c.ownTiProxyTLS() },
	certificates: func(c Cluster) []Certificate {
		proxy := c.Source.Spec.TiProxy
		var all []Certificate
		if c.TLS.Members {
			all = append(all, c.clientCertificate())
		}
		if c.TLS.SQL {
			all = append(all, c.sqlServer())
		}
		if c.TLS.SQL && !c.ownTiProxyTLS() && (proxy.SSLEnableTiDB || !c.Source.SkipTLSWhenConnectTiDB()) {
			all = append(all, c.sqlClient(proxy.TLSClientSecretName))
		}
		return all
	},
	others: func(tc *v1alpha1.TidbCluster) map[string]any {
		if tc.Spec.TiDB == nil || !tc.Spec.TiDB.IsTLSClientEnabled() {
			return nil
		}
		return map[string]any{"tlsClient": tc.Spec.TiDB.TLSClient, "skipsTLS": tc.SkipTLSWhenConnectTiDB()}
	},
	warnings: func(_ *Cluster, c Cluster, at *field.Path) []Warning {
		var warnings []Warning
		proxy := c.Written.Spec.TiProxy
		if s := proxy.ConfigUpdateStrategy; s != nil && *s == v1alpha1.ConfigUpdateStrategyRollingUpdate {
			warnings = append(warnings, warn(at.Child("configUpdateStrategy"),
				"has no effect: TiProxy reads its configuration again when it changes, and is not restarted for that"))
		}
		if proxy.Version == nil {
			warnings = append(warnings, warn(at.Child("version"),
				"is not set: releases of TiProxy have numbers of their own, and the image may have no tag "+c.Source.Spec.Version))
		}
		if proxy.ReadinessProbe != nil {
			warnings = append(warnings, warn(at.Child("readinessProbe"), "has no effect: pods of TiProxy have no probes"))
		}
		return warnings
	},
	instead: "to have no TiProxy set its replicas to 0",
}

// ownTiProxyTLS reports whether TiProxy has its own layout of certificates. In that layout its HTTP
// server shows the certificate of its members, and no other certificate.
func (c Cluster) ownTiProxyTLS() bool {
	proxy := c.Source.Spec.TiProxy
	return proxy != nil && proxy.CertLayout == v1alpha1.TiProxyCertLayoutV1
}

// TiProxyScheme returns the scheme of URLs of TiProxy's HTTP server.
func (c Cluster) TiProxyScheme() string {
	if c.TLS.Members || c.TLS.SQL && !c.ownTiProxyTLS() {
		return "https"
	}
	return "http"
}

func validateTiProxy(spec v1alpha1.TidbClusterSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	proxy := spec.TiProxy
	layouts := []v1alpha1.TiProxyCertLayout{v1alpha1.TiProxyCertLayoutLegacy, v1alpha1.TiProxyCertLayoutV1}
	if !slices.Contains(layouts, proxy.CertLayout) {
		errs = append(errs, field.NotSupported(at.Child("certLayout"), proxy.CertLayout, layouts))
	}
	reported := map[string]bool{}
	for _, table := range [][]string{
		{"proxy"}, {"security", "cluster-tls"}, {"security", "server-tls"}, {"security", "sql-tls"}, {"security", "server-http-tls"},
	} {
		if wrong := notTable(proxy.Config.MP, table...); wrong != "" && !reported[wrong] {
			reported[wrong] = true
			errs = append(errs, field.Invalid(at.Child("config").Key(wrong), "…", "must be a table"))
		}
	}
	return errs
}

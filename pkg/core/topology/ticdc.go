package topology

import (
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var readTiCDC = reading{
	kind: TiCDC,
	spec: func(tc *v1alpha1.TidbCluster) (component, bool) {
		cdc := tc.Spec.TiCDC
		if cdc == nil {
			return component{}, false
		}
		c := component{
			ComponentSpec: &cdc.ComponentSpec, whole: cdc, accessor: tc.BaseTiCDCSpec(), image: tc.TiCDCImage(), baseImage: &cdc.BaseImage,
			replicas: &cdc.Replicas, volumes: cdc.StorageVolumes, class: &cdc.StorageClassName, attributes: cdc.VolumeAttributesClassName,
		}
		if cdc.Config != nil {
			c.configs = listOf(cdc.Config.GenericConfig)
		}
		return c, true
	},
	defaults: func(tc *v1alpha1.TidbCluster) {
		cdc := tc.Spec.TiCDC
		setString(&cdc.BaseImage, ticdcImage)
		if cdc.Config == nil || cdc.Config.GenericConfig == nil {
			cdc.Config = v1alpha1.NewCDCConfig()
		}
	},
	group: func(tc *v1alpha1.TidbCluster, g *Group) { g.DrainTimeout = tc.TiCDCGracefulShutdownTimeout() },
	validate: func(spec v1alpha1.TidbClusterSpec, at *field.Path) field.ErrorList {
		return append(validateStart(spec.TiCDC, at), validateSinks(spec.TiCDC, at.Child("tlsClientSecretNames"))...)
	},
	certificates: func(c Cluster) []Certificate {
		if c.TLS.Members {
			return []Certificate{c.clientCertificate()}
		}
		return nil
	},
	warnings: func(_ *Cluster, c Cluster, at *field.Path) []Warning {
		if c.Written.Spec.TiCDC.ReadinessProbe == nil {
			return nil
		}
		return []Warning{warn(at.Child("readinessProbe"), "has no effect: pods of TiCDC have no probes")}
	},
	references: func(c Cluster, at *field.Path) []Reference {
		var refs []Reference
		for i, name := range c.Source.Spec.TiCDC.TLSClientSecretNames {
			refs = append(refs, Reference{Secret, name, at.Child("tlsClientSecretNames").Index(i), TiCDC})
		}
		return refs
	},
	noConfig: `""`,
	instead:  "to have no TiCDC set its replicas to 0",
}

// validateStart checks what the command line of TiCDC is made of. An operator starts TiCDC with a
// default in place of a value of another type.
func validateStart(cdc *v1alpha1.TiCDCSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t := cdc.GracefulShutdownTimeout; t != nil && t.Duration < 0 {
		errs = append(errs, field.Invalid(at.Child("gracefulShutdownTimeout"), t.Duration.String(), "must not be negative, such as "+(10*time.Minute).String()))
	}
	for _, key := range []string{"tz", "log-file", "log-level"} {
		if v := cdc.Config.Get(key); v != nil {
			if _, err := v.AsString(); err != nil {
				errs = append(errs, field.Invalid(at.Child("config").Key(key), "…", "must be text"))
			}
		}
	}
	if v := cdc.Config.Get("gc-ttl"); v != nil {
		if n, err := v.AsInt(); err != nil || n < 0 {
			errs = append(errs, field.Invalid(at.Child("config").Key("gc-ttl"), "…", "must be a number of seconds, such as 86400"))
		}
	}
	return errs
}

// validateSinks checks the Secrets with certificates for sinks: each is mounted as a volume of its
// own name.
func validateSinks(cdc *v1alpha1.TiCDCSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, name := range cdc.TLSClientSecretNames {
		for _, problem := range utilvalidation.IsDNS1123Label(name) {
			errs = append(errs, field.Invalid(at.Index(i), name, "a volume is named after it: "+problem))
		}
		if seen[name] {
			errs = append(errs, field.Duplicate(at.Index(i), name))
		}
		seen[name] = true
	}
	return errs
}

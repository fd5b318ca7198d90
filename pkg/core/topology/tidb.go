package topology

import (
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var readTiDB = reading{
	kind: TiDB,
	spec: func(tc *v1alpha1.TidbCluster) (component, bool) {
		db := tc.Spec.TiDB
		if db == nil {
			return component{}, false
		}
		c := component{
			ComponentSpec: &db.ComponentSpec, whole: db, accessor: tc.BaseTiDBSpec(), image: tc.TiDBImage(), baseImage: &db.BaseImage,
			replicas: &db.Replicas, volumes: db.StorageVolumes, class: &db.StorageClassName, attributes: db.VolumeAttributesClassName,
			scale: db.ScalePolicy, failovers: db.MaxFailoverCount,
		}
		if db.Config != nil {
			c.configs = listOf(db.Config.GenericConfig)
		}
		return c, true
	},
	defaults: func(tc *v1alpha1.TidbCluster) {
		db := tc.Spec.TiDB
		setString(&db.BaseImage, tidbImage)
		if db.Service != nil {
			for i := range db.Service.AdditionalPorts {
				setProtocol(&db.Service.AdditionalPorts[i].Protocol)
			}
		}
		if db.Config == nil || db.Config.GenericConfig == nil {
			db.Config = v1alpha1.NewTiDBConfig()
		}
	},
	group: func(tc *v1alpha1.TidbCluster, g *Group) {
		g.Binlog = tc.IsTiDBBinlogEnabled()
		if _, set := tc.Annotations[annMinReady(TiDB)]; !set && g.Replicas > 1 {
			g.MinReady = tidbMinReady
		}
		g.PausesDDL = tc.Annotations[AnnotationDDLPause] != "false"
		first := tc.Spec.TiDB.Initializer
		g.FirstPassword = first != nil && first.CreatePassword && !isTrue(tc.Status.TiDB.PasswordInitialized)
	},
	validate: validateTiDB,
	update: func(old, tc *v1alpha1.TidbCluster, at *field.Path) field.ErrorList {
		return validateBootstrapSQL(old.Spec.TiDB, tc.Spec.TiDB, at.Child("bootstrapSQLConfigMapName"))
	},
	listens:       tidbListens,
	acceptedNames: "security.cluster-verify-cn",
	certificates: func(c Cluster) []Certificate {
		if c.TLS.SQL {
			return []Certificate{c.sqlServer()}
		}
		return nil
	},
	others: func(tc *v1alpha1.TidbCluster) map[string]any {
		on := map[string]any{}
		if tc.Spec.Pump != nil {
			on["binlog"] = true // the default
		}
		if p := tc.Spec.TiProxy; p != nil && p.Replicas != 0 && tc.IsTLSClusterEnabled() {
			on["signedSessions"] = true
		}
		return on
	},
	warnings:   warningsTiDB,
	references: referencesTiDB,
	noConfig:   `""`,
	instead:    "to have no TiDB servers set its replicas to 0",
}

// PasswordSet returns the fields of the status that record that root has a password. From then on no
// run sets one: a user who takes the password away again has decided that.
func PasswordSet() Fields {
	return Fields{"tidb": Fields{"passwordInitialized": true}}
}

// tidbMinReady is the default MinReady of TiDB with more than one server. A server is Ready shortly
// before all nodes know its address. If the next server restarted at once, clients of a cluster of
// two servers would find only addresses that are gone.
const tidbMinReady = 3 * time.Second

func validateTiDB(spec v1alpha1.TidbClusterSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	db := spec.TiDB
	if db.ShouldSeparateSlowLog() {
		errs = append(errs, validateLogVolume(db.SlowLogVolumeName, db.StorageVolumes, db.ComponentSpec, at.Child("slowLogVolumeName"))...)
	}
	for _, table := range [][]string{{"log", "file"}, {"security"}} {
		if wrong := notTable(db.Config.MP, table...); wrong != "" {
			errs = append(errs, field.Invalid(at.Child("config").Key(wrong), "…", "must be a table"))
		}
	}
	return errs
}

func warningsTiDB(old *Cluster, c Cluster, at *field.Path) []Warning {
	var warnings []Warning
	tc, db := c.Written, c.Written.Spec.TiDB
	if old != nil && len(db.Arguments) > 0 && tc.Spec.StartScriptVersion == v1alpha1.StartScriptV2 {
		warnings = append(warnings, warn(at.Child("arguments"),
			"may have no effect: the second generation of tidb-operator's start scripts leaves them out, and one that is in use is kept"))
	}
	if probe := db.CustomizedStartupProbe; probe != nil {
		if probe.InitialDelaySeconds != nil {
			warnings = append(warnings, warn(at.Child("customizedStartupProbe", "initialDelaySeconds"), "has no effect"))
		}
		if probe.SuccessThreshold != nil && *probe.SuccessThreshold != 1 {
			warnings = append(warnings, warn(at.Child("customizedStartupProbe", "successThreshold"), "has no effect: Kubernetes takes 1 only"))
		}
	}
	return warnings
}

func referencesTiDB(c Cluster, at *field.Path) []Reference {
	var refs []Reference
	db := c.Source.Spec.TiDB
	if db.IsBootstrapSQLEnabled() {
		refs = append(refs, Reference{ConfigMap, *db.BootstrapSQLConfigMapName, at.Child("bootstrapSQLConfigMapName"), TiDB})
	}
	if db.TokenBasedAuthEnabled != nil && *db.TokenBasedAuthEnabled {
		refs = append(refs, Reference{Secret, c.AuthTokenSecret(), at.Child("tokenBasedAuthEnabled"), TiDB})
	}
	return refs
}

// validateBootstrapSQL refuses a change: TiDB runs it only when the cluster is bootstrapped.
func validateBootstrapSQL(was, is *v1alpha1.TiDBSpec, at *field.Path) field.ErrorList {
	if was == nil || is == nil || is.BootstrapSQLConfigMapName == nil {
		return nil
	}
	name := *is.BootstrapSQLConfigMapName
	if was.BootstrapSQLConfigMapName != nil && *was.BootstrapSQLConfigMapName == name {
		return nil
	}
	return field.ErrorList{field.Invalid(at, name,
		"can only be given when a cluster is made, and taken away later: TiDB would not run it; run the statements with a client")}
}

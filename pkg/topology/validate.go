package topology

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1/validation"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate says what is wrong with a TidbCluster: what the operator refuses,
// what would fail later and less clearly, and what this version does not
// support. A field that is not rendered is refused, never ignored.
func Validate(c Cluster) field.ErrorList {
	tc := c.Written
	errs := restate(validation.ValidateTidbCluster(c.Source), c.Source)
	errs = append(errs, validateName(tc)...)
	errs = append(errs, validateAnnotations(tc)...)
	errs = append(errs, unsupported(c.Source)...)
	errs = append(errs, validateComponents(c)...)
	errs = append(errs, validateSuspension(c)...)
	return errs
}

// longestName leaves room in a pod's label: "<name>-tikv-" and a hash of ten
// characters have to fit into 63.
const longestName = 63 - len("-tikv-") - 10

func validateName(tc *v1alpha1.TidbCluster) field.ErrorList {
	var errs field.ErrorList
	at := field.NewPath("metadata", "name")
	for _, problem := range utilvalidation.IsDNS1035Label(tc.Name) {
		errs = append(errs, field.Invalid(at, tc.Name, "Services are named after it: "+problem))
	}
	if len(tc.Name) > longestName {
		errs = append(errs, field.TooLong(at, tc.Name, longestName))
	}
	return errs
}

func validateComponents(c Cluster) field.ErrorList {
	var errs field.ErrorList
	spec, at := c.Source.Spec, field.NewPath("spec")
	for _, g := range c.Groups {
		own, _ := part(c.Source, g.Kind)
		errs = append(errs, validateGroup(g, own, spec.Version, at)...)
		errs = append(errs, validateVolumes(g.Kind, own, at.Child(string(g.Kind)))...)
	}
	errs = append(errs, validateLogVolumes(spec, at)...)
	for _, problem := range utilvalidation.IsDNS1123Subdomain(spec.ClusterDomain) {
		if spec.ClusterDomain != "" {
			errs = append(errs, field.Invalid(at.Child("clusterDomain"), spec.ClusterDomain, problem))
		}
	}
	if pd, ok := c.Group(PD); !ok && len(c.Groups) > 0 {
		errs = append(errs, field.Required(at.Child("pd"), "TiKV and TiDB need PD"))
	} else if ok && pd.Replicas == 0 && len(c.Groups) > 1 {
		errs = append(errs, field.Invalid(at.Child("pd", "replicas"), 0, "TiKV and TiDB need PD"))
	}
	if len(c.Groups) == 0 {
		errs = append(errs, field.Required(at.Child("pd"), "there is no component"))
	}
	return append(errs, validateConfigs(spec, at)...)
}

// validateConfigs checks what is rendered into a component's configuration, and
// where its data is.
func validateConfigs(spec v1alpha1.TidbClusterSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if pd := spec.PD; pd != nil {
		errs = append(errs, validateSubDir(pd.DataSubDir, at.Child("pd", "dataSubDir"))...)
		if wrong := notTable(pd.Config.MP, "dashboard"); wrong != "" {
			errs = append(errs, field.Invalid(at.Child("pd", "config").Key(wrong), "…", "must be a table"))
		}
		if names := pd.Config.Get("security.cert-allowed-cn"); names != nil {
			if list, err := names.AsStringSlice(); err != nil || len(list) > 1 {
				errs = append(errs, field.Invalid(at.Child("pd", "config").Key("security.cert-allowed-cn"), "…", "must be a list of one name: PD takes no more"))
			}
		}
	}
	if db := spec.TiDB; db != nil {
		for _, table := range [][]string{{"log", "file"}, {"security"}} {
			if wrong := notTable(db.Config.MP, table...); wrong != "" {
				errs = append(errs, field.Invalid(at.Child("tidb", "config").Key(wrong), "…", "must be a table"))
			}
		}
	}
	return errs
}

// component is what the specs of all components have in common.
type component struct {
	*v1alpha1.ComponentSpec
	baseImage string
	replicas  *int32
	requests  corev1.ResourceList
	volumes   []v1alpha1.StorageVolume
	class     *string
	accessor  v1alpha1.ComponentAccessor
}

// part is a component's spec, if the TidbCluster has one.
func part(tc *v1alpha1.TidbCluster, k Kind) (component, bool) {
	switch pd, kv, db := tc.Spec.PD, tc.Spec.TiKV, tc.Spec.TiDB; {
	case k == PD && pd != nil:
		return component{&pd.ComponentSpec, pd.BaseImage, &pd.Replicas, pd.Requests, pd.StorageVolumes, pd.StorageClassName, tc.BasePDSpec()}, true
	case k == TiKV && kv != nil:
		return component{&kv.ComponentSpec, kv.BaseImage, &kv.Replicas, kv.Requests, kv.StorageVolumes, kv.StorageClassName, tc.BaseTiKVSpec()}, true
	case k == TiDB && db != nil:
		return component{&db.ComponentSpec, db.BaseImage, &db.Replicas, db.Requests, db.StorageVolumes, db.StorageClassName, tc.BaseTiDBSpec()}, true
	}
	return component{}, false
}

// Replicas is where a TidbCluster has the number of a component's members, nil where it
// has no such component.
func Replicas(tc *v1alpha1.TidbCluster, k Kind) *int32 {
	spec, _ := part(tc, k)
	return spec.replicas
}

var tagPattern = regexp.MustCompile(`^\w[\w.-]{0,127}$`)

func validateGroup(g Group, spec component, version string, root *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := root.Child(string(g.Kind))
	if g.Replicas < 0 {
		errs = append(errs, field.Invalid(at.Child("replicas"), g.Replicas, "must not be negative"))
	}
	from := root.Child("version")
	if spec.Version != nil {
		version, from = *spec.Version, at.Child("version")
	}
	switch {
	case version == "":
		errs = append(errs, field.Required(from, fmt.Sprintf("%s would run whatever the newest image is", g.Kind.Title())))
	case !tagPattern.MatchString(version):
		errs = append(errs, field.Invalid(from, version, "must be the tag of an image, such as v8.1.0"))
	}
	if name, _, digest := strings.Cut(spec.baseImage, "@"); digest || strings.LastIndex(name, ":") > strings.LastIndex(name, "/") {
		errs = append(errs, field.Invalid(at.Child("baseImage"), spec.baseImage, "must not have a tag or a digest: the version is added to it"))
	}
	if s := spec.accessor.ConfigUpdateStrategy(); s != v1alpha1.ConfigUpdateStrategyInPlace && s != v1alpha1.ConfigUpdateStrategyRollingUpdate {
		errs = append(errs, field.NotSupported(at.Child("configUpdateStrategy"), s, []v1alpha1.ConfigUpdateStrategy{
			v1alpha1.ConfigUpdateStrategyInPlace, v1alpha1.ConfigUpdateStrategyRollingUpdate,
		}))
	}
	if s := spec.accessor.StatefulSetUpdateStrategy(); s != appsv1.RollingUpdateStatefulSetStrategyType && s != appsv1.OnDeleteStatefulSetStrategyType {
		errs = append(errs, field.NotSupported(at.Child("statefulSetUpdateStrategy"), s, []appsv1.StatefulSetUpdateStrategyType{
			appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType,
		}))
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

package topology

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1/validation"
	appsv1 "k8s.io/api/apps/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate says what is wrong with a TidbCluster: what the operator refuses,
// what would fail later and less clearly, and what this version does not
// support. A field that is not rendered is refused, never ignored.
func Validate(tc *v1alpha1.TidbCluster) field.ErrorList {
	c := New(tc)
	errs := validation.ValidateTidbCluster(c.Source)
	errs = append(errs, validateName(tc)...)
	errs = append(errs, validateAnnotations(tc)...)
	errs = append(errs, unsupported(c.Source)...)
	errs = append(errs, validateComponents(c)...)
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

// deleteSlots are the components whose ordinals an annotation can leave out.
var deleteSlots = []string{"pd", "tso", "scheduling", "tikv", "tidb", "tiflash", "ticdc", "tiproxy"}

func validateAnnotations(tc *v1alpha1.TidbCluster) field.ErrorList {
	var errs field.ErrorList
	at := field.NewPath("metadata", "annotations")
	for _, component := range deleteSlots {
		key := component + ".tidb.pingcap.com/delete-slots"
		text, ok := tc.Annotations[key]
		if !ok {
			continue
		}
		var slots []int32
		// What is no list has been reported by the operator's validation.
		if json.Unmarshal([]byte(text), &slots) == nil && len(slots) > 0 {
			errs = append(errs, field.Forbidden(at.Key(key),
				"a StatefulSet of Kubernetes always removes its last pod: with slots, the data of one member and the pod of another would go"))
		}
	}
	for _, k := range Kinds() {
		key := "tidb.pingcap.com/" + string(k) + "-min-ready-seconds"
		text, ok := tc.Annotations[key]
		if n, err := strconv.Atoi(text); ok && (err != nil || n < 0) {
			errs = append(errs, field.Invalid(at.Key(key), text, "must be a number of seconds"))
		}
		sha := fmt.Sprintf("pingcap.com/%s.%s-%s.sha", k, tc.Name, k)
		if _, ok := tc.Annotations[sha]; ok {
			errs = append(errs, notYet(at.Key(sha), "a ConfigMap that a Helm chart manages"))
		}
	}
	return errs
}

func validateComponents(c Cluster) field.ErrorList {
	var errs field.ErrorList
	spec, at := c.Source.Spec, field.NewPath("spec")
	for _, g := range c.Groups {
		errs = append(errs, validateGroup(g, part(c.Source, g.Kind), spec.Version, at)...)
	}
	if pd, ok := c.Group(PD); !ok && len(c.Groups) > 0 {
		errs = append(errs, field.Required(at.Child("pd"), "TiKV and TiDB need PD"))
	} else if ok && pd.Replicas == 0 && len(c.Groups) > 1 {
		errs = append(errs, field.Invalid(at.Child("pd", "replicas"), 0, "TiKV and TiDB need PD"))
	}
	if len(c.Groups) == 0 {
		errs = append(errs, field.Required(at.Child("pd"), "there is no component"))
	}
	if pd := spec.PD; pd != nil {
		errs = append(errs, validateSubDir(pd.DataSubDir, at.Child("pd", "dataSubDir"))...)
		if wrong := notTable(pd.Config.MP, "dashboard"); wrong != "" {
			errs = append(errs, field.Invalid(at.Child("pd", "config").Key(wrong), "…", "must be a table"))
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
	accessor  v1alpha1.ComponentAccessor
}

func part(tc *v1alpha1.TidbCluster, k Kind) component {
	switch k {
	case PD:
		return component{&tc.Spec.PD.ComponentSpec, tc.Spec.PD.BaseImage, tc.BasePDSpec()}
	case TiKV:
		return component{&tc.Spec.TiKV.ComponentSpec, tc.Spec.TiKV.BaseImage, tc.BaseTiKVSpec()}
	default:
		return component{&tc.Spec.TiDB.ComponentSpec, tc.Spec.TiDB.BaseImage, tc.BaseTiDBSpec()}
	}
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

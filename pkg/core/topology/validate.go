package topology

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1/validation"
	appsv1 "k8s.io/api/apps/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate returns what is wrong with a TidbCluster. This is what the operator refuses, what would
// fail later with a less clear error, and what this version does not support. A field that is not
// rendered is refused, never ignored.
func Validate(c Cluster) field.ErrorList {
	tc := c.Written
	errs := withAdvice(validation.ValidateTidbCluster(c.Source), c.Source)
	errs = append(errs, validateName(c)...)
	errs = append(errs, validateAnnotations(tc)...)
	errs = append(errs, unsupported(c.Source)...)
	errs = append(errs, validateWords(tc)...)
	errs = append(errs, validateComponents(c)...)
	errs = append(errs, validateServices(c)...)
	errs = append(errs, validateParts(c)...)
	errs = append(errs, validatePDAddresses(c)...)
	errs = append(errs, validateSysctls(c)...)
	errs = append(errs, validateSuspension(c)...)
	return errs
}

// longestName returns the limit by a pod's label: "<name>-tikv-" and a hash of ten characters must
// fit into 63.
func longestName(c Cluster) int {
	longest := len(TiKV)
	for _, g := range c.Groups {
		longest = max(longest, len(g.Kind))
	}
	return 63 - len("--") - longest - 10
}

func validateName(c Cluster) field.ErrorList {
	var errs field.ErrorList
	tc, at := c.Written, field.NewPath("metadata", "name")
	for _, problem := range utilvalidation.IsDNS1035Label(tc.Name) {
		errs = append(errs, field.Invalid(at, tc.Name, "Services are named after it: "+problem))
	}
	if most := longestName(c); len(tc.Name) > most {
		errs = append(errs, field.TooLong(at, tc.Name, most))
	}
	return errs
}

func validateComponents(c Cluster) field.ErrorList {
	var errs field.ErrorList
	spec, at := c.Source.Spec, field.NewPath("spec")
	var versionless []string
	for _, g := range c.Groups {
		own, _ := part(c.Source, g.Kind)
		errs = append(errs, validateGroup(g, own, spec.Version, at, FieldOf(c.Source, g.Kind))...)
		if own.Version == nil && spec.Version == "" {
			versionless = append(versionless, g.Kind.Title())
		}
		errs = append(errs, validateVolumes(own, FieldOf(c.Source, g.Kind))...)
	}
	if len(versionless) > 0 {
		errs = append(errs, field.Required(at.Child("version"), enumerate(versionless)+" would run whatever the newest image is"))
	}
	for _, problem := range utilvalidation.IsDNS1123Subdomain(spec.ClusterDomain) {
		if spec.ClusterDomain != "" {
			errs = append(errs, field.Invalid(at.Child("clusterDomain"), spec.ClusterDomain, problem))
		}
	}
	elsewhere := spec.Cluster != nil || len(spec.PDAddresses) > 0 // PD may be in another part of the cluster
	if pd, ok := c.Group(PD); !ok && len(c.Groups) > 0 && !elsewhere {
		errs = append(errs, field.Required(at.Child("pd"), "all other components need PD"))
	} else if ok && pd.Replicas == 0 && len(c.Groups) > 1 {
		errs = append(errs, field.Invalid(at.Child("pd", "replicas"), 0, "all other components need PD"))
	}
	if len(c.Groups) == 0 {
		errs = append(errs, field.Required(at.Child("pd"), "there is no component"))
	}
	for _, r := range readings {
		if _, ok := r.spec(c.Source); ok && r.validate != nil {
			errs = append(errs, r.validate(spec, FieldOf(c.Source, r.kind))...)
		}
	}
	return errs
}

var tagPattern = regexp.MustCompile(`^\w[\w.-]{0,127}$`)

func validateGroup(g Group, spec component, version string, root, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if g.Replicas < 0 {
		errs = append(errs, field.Invalid(at.Child("replicas"), g.Replicas, "must not be negative"))
	}
	from := root.Child("version")
	if spec.Version != nil {
		version, from = *spec.Version, at.Child("version")
	}
	switch {
	case version == "" && spec.Version == nil: // validateComponents says this once for all components
	case version == "":
		errs = append(errs, field.Required(from, fmt.Sprintf("%s would run whatever the newest image is", g.Kind.Title())))
	case !tagPattern.MatchString(version):
		errs = append(errs, field.Invalid(from, version, "must be the tag of an image, such as v8.1.0"))
	}
	if name, _, digest := strings.Cut(*spec.baseImage, "@"); digest || strings.LastIndex(name, ":") > strings.LastIndex(name, "/") {
		errs = append(errs, field.Invalid(at.Child("baseImage"), *spec.baseImage, "must not have a tag or a digest: the version is added to it"))
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

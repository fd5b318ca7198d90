package topology

import (
	"strconv"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Annotations of a TidbCluster, and of the pods that it makes, whose values an
// operator reads.
const (
	annForceUpgrade = "tidb.pingcap.com/force-upgrade"
	annNameBefore   = "tidb.pingcap.com/configmap-name-before-delete-"
	annSysctl       = "tidb.pingcap.com/sysctl-init"
	annRunMode      = "runmode"
)

// switches are annotations that are on with "true". For an operator every other value, such as
// "yes", silently means off.
var switches = []string{
	annForceUpgrade,
	"tidb.pingcap.com/pd-check-quorum-before-upgrade",
	"app.kubernetes.io/auto-failure-recovery",
}

// validateAnnotations refuses annotations that would have to be ignored.
func validateAnnotations(tc *v1alpha1.TidbCluster) field.ErrorList {
	at := field.NewPath("metadata", "annotations")
	errs := append(validateSlots(tc.Annotations, at), validatePartsIn(tc, at)...)
	for _, k := range Kinds() {
		errs = append(errs, validateSeconds(tc.Annotations, annMinReady(k), at)...)
		before := annNameBefore + string(k)
		if name, ok := tc.Annotations[before]; ok && len(utilvalidation.IsDNS1123Subdomain(name)) > 0 {
			errs = append(errs, field.Invalid(at.Key(before), name, "must be the name of a ConfigMap; remove the annotation if it is not"))
		}
		partition := "tidb.pingcap.com/" + string(k) + "-partition"
		if _, ok := tc.Annotations[partition]; ok {
			// Without it members would restart that the user wants to keep as they are.
			errs = append(errs, notYet(at.Key(partition), "to hold members back from an upgrade"))
		}
	}
	for _, key := range switches {
		errs = append(errs, validateSwitch(tc.Annotations, key, at)...)
	}
	errs = append(errs, validateSwitch(tc.Annotations, AnnotationDDLPause, at)...)
	errs = append(errs, validateSwitch(tc.Annotations, AnnotationLeft, at)...)
	pods := field.NewPath("spec")
	errs = append(errs, validateSwitch(tc.Spec.Annotations, annSysctl, pods.Child("annotations"))...)
	for _, k := range Kinds() {
		if spec, ok := part(tc, k); ok {
			errs = append(errs, validateSwitch(spec.Annotations, annSysctl, FieldOf(tc, k).Child("annotations"))...)
		}
	}
	return errs
}

func validateSeconds(annotations map[string]string, key string, at *field.Path) field.ErrorList {
	text, ok := annotations[key]
	if !ok {
		return nil
	}
	if n, err := strconv.ParseInt(text, 10, 32); err != nil || n < 0 {
		return field.ErrorList{field.Invalid(at.Key(key), text, "must be a number of seconds, such as 30")}
	}
	return nil
}

func validateSwitch(annotations map[string]string, key string, at *field.Path) field.ErrorList {
	text, ok := annotations[key]
	if !ok || text == "true" || text == "false" {
		return nil
	}
	return field.ErrorList{field.NotSupported(at.Key(key), text, []string{"true", "false"})}
}

// annotationWarnings returns annotations that have another effect than their name says.
func annotationWarnings(tc *v1alpha1.TidbCluster) []Warning {
	var warnings []Warning
	if tc.Annotations[annForceUpgrade] == "true" {
		warnings = append(warnings, warn(field.NewPath("metadata", "annotations").Key(annForceUpgrade),
			"is not followed: an upgrade that has to go on without PD takes --force"))
	}
	debug := func(annotations map[string]string, at *field.Path) {
		if annotations[annRunMode] == "debug" {
			warnings = append(warnings, warn(at.Child("annotations").Key(annRunMode),
				"pods start nothing and wait for a person who debugs them, until it is removed"))
		}
	}
	debug(tc.Spec.Annotations, field.NewPath("spec"))
	for _, k := range Kinds() {
		if spec, ok := part(tc, k); ok {
			debug(spec.Annotations, FieldOf(tc, k))
		}
	}
	return warnings
}

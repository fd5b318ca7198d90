package topology

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	// sysctlName is what Kubernetes accepts as the name of a kernel parameter.
	sysctlName = regexp.MustCompile(`^[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$`)
	// sysctlValue is one word, or several numbers or words, also in quotes. No shell takes any part of it for more than
	// text, and sysctl takes none for a flag.
	sysctlValue = regexp.MustCompile(`^(` + sysctlWords + `|"` + sysctlWords + `"|'` + sysctlWords + `')$`)
)

const sysctlWords = `(-?[A-Za-z0-9_.,:/+%@=]*([ \t]+(-?[0-9]+|[A-Za-z0-9_.,:/+%@=]+))*)`

// InvalidSysctls returns the kernel parameters of a pod that are refused. With annotation tidb.pingcap.com/sysctl-init
// they become the text of a shell in a privileged container. So a value could be a command that runs on the host.
func InvalidSysctls(security *corev1.PodSecurityContext, at *field.Path) field.ErrorList {
	if security == nil {
		return nil
	}
	var errs field.ErrorList
	for i, s := range security.Sysctls {
		one := at.Child("sysctls").Index(i)
		if !sysctlName.MatchString(s.Name) || len(s.Name) > 253 {
			errs = append(errs, field.Invalid(one.Child("name"), s.Name, "must be the name of a kernel parameter, such as net.core.somaxconn"))
		}
		if !sysctlValue.MatchString(s.Value) {
			errs = append(errs, field.Invalid(one.Child("value"), s.Value,
				"must be a number or a word, or several with spaces between them, such as 32768: a shell sets it"))
		}
	}
	return errs
}

// validateSysctls refuses kernel parameters of the cluster and of its components.
func validateSysctls(c Cluster) field.ErrorList {
	at := field.NewPath("spec")
	errs := InvalidSysctls(c.Source.Spec.PodSecurityContext, at.Child("podSecurityContext"))
	for _, k := range Kinds() {
		if spec, ok := part(c.Source, k); ok && spec.ComponentSpec != nil {
			errs = append(errs, InvalidSysctls(spec.PodSecurityContext, FieldOf(c.Source, k).Child("podSecurityContext"))...)
		}
	}
	return errs
}

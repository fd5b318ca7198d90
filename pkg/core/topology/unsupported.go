package topology

import (
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// notYet returns the error for something that an operator does and this version does not.
func notYet(at *field.Path, what string) *field.Error {
	return field.Forbidden(at, "not supported yet: "+what)
}

// unsupported returns errors for the fields that this version would have to ignore.
func unsupported(tc *v1alpha1.TidbCluster) field.ErrorList {
	spec, at := tc.Spec, field.NewPath("spec")
	var errs field.ErrorList
	refuse := func(set bool, what string, path ...string) {
		if set {
			errs = append(errs, notYet(at.Child(path[0], path[1:]...), what))
		}
	}
	refuse(spec.RecoveryMode, "restoring a cluster from volume snapshots", "recoveryMode")

	for _, r := range readings {
		if _, ok := r.spec(tc); ok && r.unsupported != nil {
			r.unsupported(tc, refuse)
		}
	}
	return errs
}

// enumerate returns names as a sentence has them: "A, B and C".
func enumerate(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func isTrue(b *bool) bool { return b != nil && *b }

package topology

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// AnnotationPartsIn is an annotation of a TidbCluster with PD. Its value names namespaces, with commas between them. A
// daemon lets parts of these namespaces use the PD, besides parts of the same namespace.
//
// A daemon has rights in several namespaces, and the author of a TidbCluster may have rights in one namespace only. Without
// the annotation, the author could have the daemon connect to PD of any other namespace.
const AnnotationPartsIn = "kubectl-tidb/parts-in"

// AnnotationLeft is an annotation of a TidbCluster whose members of PD have joined a database. The value "true" says
// that PD lists no member and no store of the part any more. The members here can be asked no more then.
const AnnotationLeft = "kubectl-tidb/left"

// HasLeft reports whether a part has left its database, and only its TidbCluster is left to be deleted.
func (c Cluster) HasLeft() bool { return !c.Founds() && c.Source.Annotations[AnnotationLeft] == "true" }

// PartsIn returns the namespaces in the annotation.
func PartsIn(tc *v1alpha1.TidbCluster) (all []string) {
	for name := range strings.SplitSeq(tc.Annotations[AnnotationPartsIn], ",") {
		if name = strings.TrimSpace(name); name != "" {
			all = append(all, name)
		}
	}
	return all
}

// AllowsParts reports whether parts of a namespace may use the PD of a TidbCluster.
func AllowsParts(tc *v1alpha1.TidbCluster, namespace string) bool {
	return namespace == tc.Namespace || slices.Contains(PartsIn(tc), namespace)
}

// ToAllowParts returns how a user lets parts of a namespace use the PD of a TidbCluster.
func ToAllowParts(tc *v1alpha1.TidbCluster, namespace string) remedy.Command {
	value := strings.Join(append(PartsIn(tc), namespace), ",")
	return remedy.Kubectl(tc.Namespace, "annotate", "tidbcluster", tc.Name, "--overwrite", AnnotationPartsIn+"="+value)
}

// validatePartsIn refuses what is no name of a namespace.
func validatePartsIn(tc *v1alpha1.TidbCluster, at *field.Path) (errs field.ErrorList) {
	for _, name := range PartsIn(tc) {
		if len(utilvalidation.IsDNS1123Label(name)) > 0 {
			errs = append(errs, field.Invalid(at.Key(AnnotationPartsIn), name, "must be names of namespaces, with commas between them"))
		}
	}
	return errs
}

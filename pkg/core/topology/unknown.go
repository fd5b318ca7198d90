package topology

import (
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// annUnknown names fields of a TidbCluster that the API types do not have. No cluster has this
// annotation. The code that decodes a TidbCluster sets it, because decoding drops the fields.
const annUnknown = "kubectl-tidb/unknown-fields"

// SetUnknown records which fields of a TidbCluster this version does not know.
func SetUnknown(tc *v1alpha1.TidbCluster, fields []string) {
	delete(tc.Annotations, annUnknown)
	if len(fields) == 0 {
		return
	}
	if tc.Annotations == nil {
		tc.Annotations = map[string]string{}
	}
	tc.Annotations[annUnknown] = strings.Join(fields, " ")
}

// Unknown returns the fields of a TidbCluster that this version does not know, such as
// "spec.tikv.later".
func Unknown(tc *v1alpha1.TidbCluster) []string { return strings.Fields(tc.Annotations[annUnknown]) }

// unknownTo returns the unknown fields that the component's pods may depend on. These are fields of
// the component, and of the cluster as a whole.
func unknownTo(tc *v1alpha1.TidbCluster, k Kind) []string {
	var fields []string
	for _, path := range Unknown(tc) {
		name, _, nested := strings.Cut(strings.TrimPrefix(path, "spec."), ".")
		if _, other := ParseKind(name); !nested || name == string(k) || !other {
			fields = append(fields, path)
		}
	}
	return fields
}

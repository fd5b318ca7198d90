package topology

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// component is what a TidbCluster says of one component, as far as all components have
// it in common.
type component struct {
	*v1alpha1.ComponentSpec
	whole     any // all that it says
	accessor  v1alpha1.ComponentAccessor
	image     string // with its tag
	baseImage *string
	replicas  *int32
	requests  corev1.ResourceList // of the volume with the data, nil where there is none
	volumes   []v1alpha1.StorageVolume
	class     *string // the storage class
	subDir    string  // where in its volume the data is
	scale     v1alpha1.ScalePolicy
	failovers *int32 // the highest number
	config    *config.GenericConfig
}

// reading is how one component is read from a TidbCluster. A component is added by a
// row. Where a function is nil there is nothing to do.
type reading struct {
	kind Kind
	// spec is the component's part, false where the TidbCluster has none.
	spec func(*v1alpha1.TidbCluster) (component, bool)
	// defaults fills in what the schema of the definition fills in, and an empty
	// configuration. The TidbCluster has the component, as below.
	defaults func(*v1alpha1.TidbCluster)
	// group adds what only this component has.
	group func(*v1alpha1.TidbCluster, *Group)
	// validate checks what only this component has; unsupported refuses what this
	// version would have to ignore; update checks a change.
	validate    func(v1alpha1.TidbClusterSpec, *field.Path) field.ErrorList
	unsupported func(*v1alpha1.TidbCluster, func(set bool, what string, path ...string))
	update      func(old, tc *v1alpha1.TidbCluster, at *field.Path) field.ErrorList
	// warnings lists fields without the effect that they seem to have.
	warnings func(old *Cluster, c Cluster, at *field.Path) []Warning
	// references are what members need besides what all components may need.
	references func(Cluster, *field.Path) []Reference
	// instead says what to do instead of taking the component out of the spec.
	instead string
}

// readings are those of all components, in dependency order.
var readings = []reading{readPD, readTiKV, readTiDB}

// part is a component's spec, if the TidbCluster has one.
func part(tc *v1alpha1.TidbCluster, k Kind) (component, bool) {
	for i := range readings {
		if readings[i].kind == k {
			return readings[i].spec(tc)
		}
	}
	return component{}, false
}

// Replicas is where a TidbCluster has the number of a component's members, nil where it
// has no such component.
func Replicas(tc *v1alpha1.TidbCluster, k Kind) *int32 {
	spec, _ := part(tc, k)
	return spec.replicas
}

// settings is how many keys a component's configuration has, -1 where there is
// none at all.
func settings(tc *v1alpha1.TidbCluster, k Kind) int {
	if spec, ok := part(tc, k); ok && spec.config != nil {
		return len(spec.config.MP)
	}
	return -1
}

package daemon

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Shard is a part of the clusters: one of several that have about the same size. Which part a cluster is in follows
// only from the cluster's namespace and name, so that daemons need no agreement on it. Its zero value is all
// clusters.
type Shard struct{ Index, Of int }

// ParseShard reads a shard as it is written, for example 0/3, 1/3 and 2/3; "" is all clusters.
func ParseShard(s string) (Shard, error) {
	if s == "" {
		return Shard{}, nil
	}
	first, second, found := strings.Cut(s, "/")
	index, err := strconv.Atoi(first)
	of, err2 := strconv.Atoi(second)
	if !found || err != nil || err2 != nil || of < 1 || index < 0 || index >= of {
		return Shard{}, fmt.Errorf("%q is no shard: the first of three is 0/3, the last one 2/3", s)
	}
	return Shard{index, of}, nil
}

func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// has reports whether a cluster is in the shard, by its namespace and its instance.
func (s Shard) has(namespace, of string) bool {
	if s.Of < 2 {
		return true
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(instance(namespace, of)))
	return int(h.Sum32()%uint32(s.Of)) == s.Index //nolint:gosec // of is positive
}

// foreign is an object of a cluster in another shard, as the mirror keeps it. The API server cannot select by a
// hash, so that watches show all objects, and an informer keeps something of each. A foreign takes a tenth of the
// memory of the object.
type foreign struct {
	namespace unique.Handle[string]
	name      string
}

// GetObjectMeta implements metav1.ObjectMetaAccessor. Without a version, an informer sees no change.
func (f *foreign) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: f.namespace.Value(), Name: f.name}
}

// keepOwn returns a transformation that keeps only the names of objects in other shards.
func (s Shard) keepOwn(transform cache.TransformFunc) cache.TransformFunc {
	if s.Of < 2 {
		return transform
	}
	return func(obj any) (any, error) {
		m, ok := obj.(metav1.Object)
		if !ok { // transformed before, or the name of a deleted object
			return transform(obj)
		}
		// A TidbCluster may have no label: then its name is the instance.
		if s.has(m.GetNamespace(), cmp.Or(m.GetLabels()[topology.LabelInstance], m.GetName())) {
			return transform(obj)
		}
		return &foreign{unique.Make(m.GetNamespace()), strings.Clone(m.GetName())}, nil
	}
}

// isForeign reports whether an object is of a cluster in another shard.
func isForeign(obj any) bool {
	_, is := obj.(*foreign)
	return is
}

package daemon

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// wanted is a TidbCluster as the mirror keeps it.
type wanted struct {
	packed
	uid        types.UID
	generation int64
	digest     [sha256.Size]byte // of the fields that users write, without the status
}

// GetObjectMeta implements metav1.ObjectMetaAccessor.
func (w *wanted) GetObjectMeta() metav1.Object {
	m := w.packed.GetObjectMeta()
	m.SetUID(w.uid)
	m.SetGeneration(w.generation)
	return m
}

// keepWanted packs a TidbCluster. One that cannot be decoded stays an
// intent.Undecodable, whose error is reported in its turn.
func keepWanted(obj any) (any, error) {
	obj, err := intent.Typed(obj)
	tc, ok := obj.(*v1alpha1.TidbCluster)
	if err != nil || !ok {
		return obj, err
	}
	asked, err := json.Marshal([]any{tc.Spec, tc.Annotations, tc.Labels})
	if err != nil {
		return nil, fmt.Errorf("encode tidbcluster %s/%s: %w", tc.Namespace, tc.Name, err)
	}
	all, err := json.Marshal(tc)
	if err != nil {
		return nil, fmt.Errorf("encode tidbcluster %s/%s: %w", tc.Namespace, tc.Name, err)
	}
	w := &wanted{packed: identify(tc), uid: tc.UID, generation: tc.Generation, digest: sha256.Sum256(asked)}
	w.instance = topology.New(tc).Instance
	return w, w.fill(all)
}

// cluster returns the TidbCluster. Each call makes another copy.
func (w *wanted) cluster() (*v1alpha1.TidbCluster, error) {
	body, err := w.content()
	if err != nil {
		return nil, err
	}
	tc := &v1alpha1.TidbCluster{}
	if err := json.Unmarshal(body, tc); err != nil {
		return nil, w.broken(err)
	}
	return tc, nil
}

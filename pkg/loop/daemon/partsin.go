package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// allowsPart fails for a part with the PD of another namespace, unless the TidbCluster there lets parts of this namespace
// use its PD. A command needs no such permission, because a command has the rights of its user.
func (m *mirror) allowsPart(ctx context.Context, c topology.Cluster) error {
	if c.JoinsNamespace() == "" {
		return nil
	}
	at := field.NewPath("spec", "cluster", "namespace")
	other, err := m.clusterOfPD(ctx, cache.NewObjectName(c.Joined.Namespace, c.Joined.Name))
	gone := &intent.NotFoundError{}
	switch {
	case errors.As(err, &gone):
		return &render.RefusedError{Fields: field.ErrorList{field.NotFound(at, c.Joined.String())}}
	case err != nil:
		return fmt.Errorf("see whether %s lets parts of namespace %s use its PD: %w", c.Joined, c.Namespace, err)
	case topology.AllowsParts(other, c.Namespace):
		return nil
	}
	return remedy.For(
		&render.RefusedError{Fields: field.ErrorList{field.Forbidden(at, fmt.Sprintf("TidbCluster %s does not let parts of namespace %s use its PD", c.Joined, c.Namespace))}},
		remedy.Run("let these parts use it, which this driver sees within five minutes", topology.ToAllowParts(other, c.Namespace)))
}

// clusterOfPD returns a TidbCluster, which may be in a namespace or a shard of which there is no copy.
func (m *mirror) clusterOfPD(ctx context.Context, key cache.ObjectName) (*v1alpha1.TidbCluster, error) {
	tc, err := view{m, key}.cluster()
	if gone := (*intent.NotFoundError)(nil); errors.As(err, &gone) {
		return m.tcs.Load(ctx, key.Namespace, key.Name)
	}
	return tc, err
}

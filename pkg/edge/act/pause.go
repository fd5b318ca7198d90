package act

import (
	"context"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// PauseEnder ends the pause of a TidbCluster, unless somebody has changed the pause, and forgets pauses of DDL.
// *intent.Client implements it.
type PauseEnder interface {
	Intent
	DDLPauses
	EndPause(ctx context.Context, tc *v1alpha1.TidbCluster) error
}

// endPause ends a pause whose time is over. A person may have made it longer since the decision, or
// begun another one, which must not end by this.
func (a *Actor) endPause(ctx context.Context, _ step.EndPause) error {
	tc, err := a.intent.Load(ctx, a.cluster.Namespace, a.cluster.Name)
	if err != nil {
		return err
	}
	switch c := topology.New(tc); {
	case c.UID != a.cluster.UID:
		return stale(tidbcluster(tc), "was deleted and created again")
	case !c.Paused:
		return nil
	case !c.Pause.Over(a.now()):
		return stale(tidbcluster(tc), "is %s", c.Pause)
	}
	return a.intent.EndPause(ctx, tc)
}

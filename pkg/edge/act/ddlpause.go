package act

import (
	"context"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// DDLPauses removes the record of a pause of DDL from a TidbCluster. *intent.Client implements it.
type DDLPauses interface {
	ForgetDDLPause(ctx context.Context, tc *v1alpha1.TidbCluster) error
}

// endDDLPause asks TiDB first, and then removes the record: in the other order nothing would tell the next run of a pause
// that TiDB still has, if this process ended in between.
func (a *Actor) endDDLPause(ctx context.Context, s plan.EndDDLPause) error {
	_, ordinal, known := a.cluster.Member(s.Member)
	if !known {
		return fmt.Errorf("end the pause of DDL: %s is no member of the cluster", s.Member)
	}
	if _, err := a.samePod(ctx, s.Member, s.PodUID); err != nil {
		return err
	}
	tc, err := a.intent.Load(ctx, a.cluster.Namespace, a.cluster.Name)
	if err != nil {
		return err
	}
	switch c := topology.New(tc); {
	case c.UID != a.cluster.UID:
		return stale(tidbcluster(tc), "was deleted and created again")
	case c.Paused:
		return stale(tidbcluster(tc), "is %s", c.Pause)
	case !c.DDLPause.Recorded:
		return nil
	}
	if err := a.resumeDDL(ctx, a.cluster, ordinal); err != nil {
		return err
	}
	return a.intent.ForgetDDLPause(ctx, tc)
}

// OnDDL sets what asks the TiDB server in a member's pod to end a pause of DDL.
func (a *Actor) OnDDL(resume func(ctx context.Context, c topology.Cluster, ordinal int) error) *Actor {
	a.resumeDDL = resume
	return a
}

package act

import (
	"context"
	"errors"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
)

// DDLPauses writes and removes the record of a pause of DDL in a TidbCluster. *intent.Client implements it.
type DDLPauses interface {
	RecordDDLPause(ctx context.Context, tc *v1alpha1.TidbCluster, p topology.DDLPause) error
	ForgetDDLPause(ctx context.Context, tc *v1alpha1.TidbCluster) error
}

// DDL asks the TiDB server in a member's pod whether a pause of DDL is possible, and begins or ends a pause. Notice
// reports that servers are restarted without a pause.
type DDL struct {
	CanPause, Pause, Resume func(ctx context.Context, c topology.Cluster, ordinal int) error
	Notice                  func(text string)
}

// OnDDL sets how pauses of DDL begin and end.
func (a *Actor) OnDDL(d DDL) *Actor {
	a.ddl = d
	return a
}

// beginDDLPause writes the record, and then asks TiDB. In the other order nothing would tell the next run of the
// pause, if this process ended in between. An upgrade never fails because of the pause: what keeps it from beginning
// is a notice. Only where TiDB says that it does not pause DDL, the record is removed. In all other cases DDL may be
// paused, and the pause is ended with the upgrade.
func (a *Actor) beginDDLPause(ctx context.Context, s step.BeginDDLPause) error {
	_, ordinal, known := a.cluster.Member(s.By)
	if !known {
		return fmt.Errorf("begin a pause of DDL: %s is no member of the cluster", s.By)
	}
	if _, err := a.samePod(ctx, s.By, s.PodUID); err != nil {
		return err
	}
	tc, err := a.intent.Load(ctx, a.cluster.Namespace, a.cluster.Name)
	if err != nil {
		return err
	}
	c := topology.New(tc)
	switch g, _ := c.Group(s.Component); {
	case c.UID != a.cluster.UID:
		return stale(tidbcluster(tc), "was deleted and created again")
	case c.Paused:
		return stale(tidbcluster(tc), "is %s", c.Pause)
	case !g.PausesDDL || g.Held:
		return stale(tidbcluster(tc), "asks for no pause of DDL now")
	case c.DDLPause.Recorded:
		return nil
	}
	// Without this question a run that is killed after it has written the record could leave one that no server can end.
	if err := a.ddl.CanPause(ctx, a.cluster, ordinal); err != nil {
		if ctx.Err() == nil {
			a.ddl.Notice("DDL statements are not paused for the upgrade of TiDB, which goes on: " + err.Error())
		}
		return ctx.Err()
	}
	pause := topology.DDLPause{Recorded: true, Since: a.now(), From: s.From, To: s.To}
	if err := a.intent.RecordDDLPause(ctx, tc, pause); ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		a.ddl.Notice("DDL statements are not paused for the upgrade of TiDB, because that could not be recorded: " + err.Error())
		return nil
	}
	return a.pauseDDL(ctx, ordinal)
}

// pauseDDL asks TiDB for a pause that is recorded.
func (a *Actor) pauseDDL(ctx context.Context, ordinal int) error {
	err := a.ddl.Pause(ctx, a.cluster, ordinal)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *tidb.RefusedError
	if !errors.As(err, &refused) {
		a.ddl.Notice("DDL statements may not be paused for the upgrade of TiDB, which goes on; a pause is ended with it: " + err.Error())
		return nil
	}
	a.ddl.Notice("DDL statements are not paused for the upgrade of TiDB, which goes on: " + err.Error())
	tc, err := a.intent.Load(ctx, a.cluster.Namespace, a.cluster.Name)
	if err != nil {
		return err
	}
	return a.intent.ForgetDDLPause(ctx, tc)
}

// endDDLPause asks TiDB first, and then removes the record. In the other order nothing would tell the next run of a
// pause that TiDB still has, if this process ended in between.
func (a *Actor) endDDLPause(ctx context.Context, s step.EndDDLPause) error {
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
	if err := a.ddl.Resume(ctx, a.cluster, ordinal); err != nil {
		return err
	}
	return a.intent.ForgetDDLPause(ctx, tc)
}

package backup

import (
	"context"
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// record records the settings of PD in the TidbCluster. A record of an earlier restore stays, because PD may have lost its
// settings since then.
func (r *restoration) record(ctx context.Context) error {
	tc, err := r.tidbcluster.Load(ctx, r.cluster.Namespace, r.cluster.Name)
	if err != nil {
		return err
	}
	was, recorded, err := backup.SettingsOf(tc)
	switch {
	case err != nil:
		return r.unreadable(err)
	case recorded:
		fmt.Fprintf(r.f.Streams.ErrOut, "an earlier restore has not put PD's settings of %s back; that is done after this one\n", was.Since.Format("2006-01-02T15:04:05Z07:00"))
		return nil
	}
	client, err := r.pd(ctx)
	if err != nil {
		return err
	}
	now, err := settings(ctx, client)
	if err != nil {
		return err
	}
	now.Since = r.session.Now()
	text, err := now.Text()
	if err != nil {
		return err
	}
	return r.tidbcluster.RecordRestore(ctx, tc, text)
}

// settings reads the settings that PD has now.
func settings(ctx context.Context, client pd.Client) (backup.Settings, error) {
	id, err := client.ClusterID(ctx)
	if err != nil {
		return backup.Settings{}, fmt.Errorf("read the settings of PD: %w", err)
	}
	now, err := client.ScheduleSettings(ctx, backup.Lowered...)
	if err != nil {
		return backup.Settings{}, fmt.Errorf("read the settings of PD: %w", err)
	}
	return backup.Settings{Cluster: id, Schedulers: now.Schedulers, Numbers: now.Numbers}, nil
}

// putBack puts back the settings of PD that the TidbCluster records, and removes the record. BR has ended.
func (r *restoration) putBack(ctx context.Context) error {
	tc, err := r.tidbcluster.Load(ctx, r.cluster.Namespace, r.cluster.Name)
	if err != nil {
		return r.notPutBack(err)
	}
	was, recorded, err := backup.SettingsOf(tc)
	switch {
	case err != nil:
		return r.unreadable(err)
	case !recorded:
		return nil // another command has put them back
	}
	client, err := r.pd(ctx)
	if err != nil {
		return r.notPutBack(err)
	}
	now, err := settings(ctx, client)
	if err != nil {
		return r.notPutBack(err)
	}
	if now.Cluster == was.Cluster { // else the record is of another cluster with the same name
		schedulers, numbers := was.Lost(now)
		for _, name := range schedulers {
			if err := client.AddScheduler(ctx, name); err != nil {
				return r.notPutBack(err)
			}
		}
		if err := client.SetScheduleNumbers(ctx, numbers); err != nil {
			return r.notPutBack(err)
		}
		if len(schedulers)+len(numbers) > 0 {
			fmt.Fprintf(r.f.Streams.ErrOut, "put back in PD, where BR has changed it: %s\n", named(schedulers, numbers))
		}
	}
	if err := r.tidbcluster.ForgetRestore(ctx, tc); err != nil {
		return r.notPutBack(err)
	}
	return nil
}

// notPutBack says that the settings are not put back.
func (r *restoration) notPutBack(err error) error {
	return remedy.For(fmt.Errorf("PD's settings of before the restore are not put back: %w", err), remedy.Run("try again", r.cancellation()))
}

func (r *restoration) unreadable(err error) error {
	return remedy.For(exit.Refusef("%w, so that PD's settings cannot be put back", err),
		remedy.Run("see the annotation, which a later version may have written", r.cluster.Kubectl("get", "tidbcluster", r.cluster.Name, "-o", "yaml")))
}

// putBackAlone puts back what a restore without a Job has left in PD.
func (r *restoration) putBackAlone(ctx context.Context) error {
	tc, err := r.tidbcluster.Load(ctx, r.cluster.Namespace, r.cluster.Name)
	if err != nil {
		return err
	}
	was, recorded, err := backup.SettingsOf(tc)
	switch {
	case err != nil:
		return r.unreadable(err)
	case !recorded:
		return exit.Refusef("%s has no restore to cancel; nothing was changed", target.Title(r.cluster))
	case r.dryRun != flags.NoDryRun:
		fmt.Fprintf(r.f.Streams.Out, "PD's settings of %s would be put back\n", was.Since.Format("2006-01-02T15:04:05Z07:00"))
		return nil
	}
	if err := r.putBack(ctx); err != nil {
		return err
	}
	fmt.Fprintf(r.f.Streams.Out, "%s has the settings of PD again that it had before the restore\n", target.Title(r.cluster))
	return nil
}

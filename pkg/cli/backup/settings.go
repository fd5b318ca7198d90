package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// record records the settings of PD in the TidbCluster. The values of an earlier restore stay, because PD may have lost its
// settings since then.
func (r *restoration) record(ctx context.Context, restore string) error {
	tc, err := r.tidbcluster.Load(ctx, r.cluster.Namespace, r.cluster.Name)
	if err != nil {
		return err
	}
	client, err := r.pd(ctx)
	if err != nil {
		return err
	}
	now, err := settings(ctx, client)
	if err != nil {
		return err
	}
	was, recorded, err := backup.SettingsOf(tc)
	switch {
	case err != nil:
		return r.unreadable(err)
	case recorded && was.Restore == restore:
		return nil // by an earlier command, which was killed before BR began
	case recorded && was.Cluster == now.Cluster: // else the record is of another database
		fmt.Fprintf(r.f.Streams.ErrOut, "restore %s has not put PD's settings back; that is done after this one\n", was.Restore)
		now = was
	default:
		now.Since = r.session.Now()
	}
	now.Restore = restore
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
	now, err := client.ScheduleSettings(ctx, backup.Changed...)
	if err != nil {
		return backup.Settings{}, fmt.Errorf("read the settings of PD: %w", err)
	}
	return backup.Settings{Cluster: id, Schedulers: now.Schedulers, Numbers: now.Numbers}, nil
}

// putBack puts back the settings of PD that the TidbCluster records for a restore, or for any with "". It then removes the
// record. BR has ended.
func (r *restoration) putBack(ctx context.Context, restore string) error {
	tc, err := r.tidbcluster.Load(ctx, r.cluster.Namespace, r.cluster.Name)
	if err != nil {
		return r.notPutBack(err)
	}
	was, recorded, err := backup.SettingsOf(tc)
	switch {
	case err != nil:
		return r.unreadable(err)
	case !recorded, restore != "" && was.Restore != restore:
		return nil // another command has put them back, or another restore does so at its end
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
			fmt.Fprintf(r.f.Streams.ErrOut, "put back in PD, where BR has changed it: %s\n", settingsText(schedulers, numbers))
		}
	}
	err = r.tidbcluster.ForgetRestore(ctx, tc)
	if _, changed := errors.AsType[*intent.ChangedError](err); err == nil || changed {
		return nil // another command was faster
	}
	return r.notPutBack(err)
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
		fmt.Fprintf(r.f.Streams.Out, "PD's settings of %s would be put back\n", was.Since.Format(time.RFC3339))
		return nil
	}
	if err := r.putBack(ctx, ""); err != nil {
		return err
	}
	fmt.Fprintf(r.f.Streams.Out, "%s has the settings of PD again that it had before the restore\n", target.Title(r.cluster))
	return nil
}

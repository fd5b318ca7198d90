package backup

import (
	"cmp"
	"context"
	dbsql "database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/create"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/remove"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/sql"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

// drill is one run of "backup drill".
type drill struct {
	drillOptions
	work   // of the cluster whose backup is restored
	tc     *v1alpha1.TidbCluster
	backup v1alpha1.Backup
	scope  backup.Asked          // what the Backup has
	ts     uint64                // the time of the Backup's data
	beside *v1alpha1.TidbCluster // the cluster that the drill makes
	id     string                // of this run, in the TidbCluster that it makes
}

// make restores a backup into a cluster of its own, and compares the rows. The cluster of the Backup is read first, because
// TiDB deletes the data of that time soon.
func (d *drill) make(ctx context.Context) error {
	if err := d.choose(ctx); err != nil {
		return err
	}
	if err := d.check(ctx); err != nil {
		return err
	}
	if d.dryRun != flags.NoDryRun {
		return d.preview()
	}
	db, login, err := sql.Open(ctx, d.f, d.session, d.cluster, d.access)
	if err != nil {
		return err
	}
	was, err := readSums(ctx, d.f, db, target.Title(d.cluster), d.scope, d.ts)
	_ = db.Close()
	switch {
	case err != nil:
		return exit.Ended(ctx, d.unread(err))
	case len(was) == 0:
		return exit.Refusef("%s had no table at the time of backup %s, so that nothing could be compared; nothing was changed", target.Title(d.cluster), d.backup.Name)
	}
	restored, err := d.restore(ctx, login)
	if errors.Is(err, exit.ErrInterrupted) || ctx.Err() != nil {
		return remedy.For(exit.Ended(ctx, cmp.Or(err, context.Cause(ctx))), remedy.Run("what the drill has made is left; delete it", d.cancellation()))
	}
	if broken, ok := errors.AsType[*brokenError](err); ok && broken.cause.Breaks() {
		err = errors.Join(err, d.record(ctx, time.Time{}))
	}
	if err == nil {
		err = d.conclude(ctx, was, restored)
	}
	return errors.Join(err, d.clean(ctx))
}

// choose finds the Backup.
func (d *drill) choose(ctx context.Context) error {
	all, err := edge.Of(ctx, d.dyn, d.cluster.Namespace)
	if err != nil {
		return err
	}
	name := d.from
	if name == "" {
		found := backup.Of(d.tc, all.Items)
		if found.Newest == "" {
			return remedy.For(exit.Refusef("%s has no backup to restore: %s; nothing was changed", target.Title(d.cluster), found.Lacks(d.session.Now(), 0)),
				remedy.Run("see the backups", remedy.Plugin(d.cluster.Namespace, "backup", "list")))
		}
		_, name, _ = strings.Cut(found.Newest, "/")
	}
	if d.backup, err = named(all, d.cluster.Namespace, name); err != nil {
		return err
	}
	if br := d.backup.Spec.BR; br == nil || br.Cluster != d.cluster.Name || isOfOtherNamespace(&d.backup) {
		return exit.Usagef("backup %s is not of %s, with whose rows it would be compared; nothing was changed", name, target.Title(d.cluster))
	}
	if d.ts, err = strconv.ParseUint(d.backup.Status.CommitTs, 10, 64); err != nil || d.ts == 0 {
		return exit.Refusef("backup %s does not say of which timestamp its data is; nothing was changed", name)
	}
	d.scope = backup.Asked{}.ScopedBy(&d.backup)
	return nil
}

// check refuses a drill that could not succeed, or would share something with the cluster of the Backup.
func (d *drill) check(ctx context.Context) error {
	c, spec := d.cluster, d.tc.Spec
	switch {
	case c.UsesOtherPD():
		return exit.Refusef("%s has the PD of another cluster: drill the backup with the cluster that has PD; nothing was changed", target.Title(c))
	case spec.PD == nil || spec.TiKV == nil || spec.TiDB == nil:
		return exit.Refusef("%s has not all of PD, TiKV and TiDB in its spec, so that a cluster like it could not be restored into; nothing was changed", target.Title(c))
	case backup.SharesVolumes(d.tc):
		return exit.Refusef("%s has volumes in additionalVolumes that another cluster would share, and write into; nothing was changed", target.Title(c))
	}
	from, flaw := backup.SourceOf(&d.backup, d.scope)
	if flaw != "" {
		return remedy.For(exit.Refusef("backup %s cannot be restored: it %s; nothing was changed", d.backup.Name, flaw),
			remedy.Run("see the backups", remedy.Plugin(c.Namespace, "backup", "list")))
	}
	if old := from.TooOld(c); old != "" {
		return exit.Refusef("%s, and BR restores into the same release or a newer one; nothing was changed", old)
	}
	if err := d.refuse(ctx, d.request(d.asked.WithAccessOf(from), from.Destination)); err != nil {
		return err
	}
	d.id = string(uuid.NewUUID())
	d.beside = backup.DrillCluster(d.tc, d.id)
	if err := d.checkFree(ctx); err != nil {
		return err
	}
	return d.tryToMake(ctx)
}

// tryToMake refuses a drill whose cluster the API server would not take, before the tables are read.
func (d *drill) tryToMake(ctx context.Context) error {
	if errs := topology.Validate(topology.New(d.beside)); len(errs) > 0 {
		return exit.Refusef("cluster %s/%s would not be valid: %w; nothing was changed", d.beside.Namespace, d.beside.Name, errs.ToAggregate())
	}
	client, err := d.f.Within("").Intent()
	if err != nil {
		return err
	}
	if _, err := client.Create(ctx, d.beside, intent.Write{DryRun: true}); err != nil {
		return fmt.Errorf("cluster %s/%s could not be made: %w; nothing was changed", d.beside.Namespace, d.beside.Name, err)
	}
	return nil
}

// checkFree refuses where something has the name of the cluster that is to be made. Data that is there would be used.
func (d *drill) checkFree(ctx context.Context) error {
	there, err := d.made(ctx)
	switch {
	case err != nil:
		return err
	case there != nil:
		return remedy.For(exit.Refusef("cluster %s/%s exists already: a drill is under way, or was left; nothing was changed", there.Namespace, there.Name),
			remedy.Run("see how far it is", remedy.Plugin(there.Namespace, "status", there.Name)), remedy.Run("delete it", d.cancellation()))
	}
	return d.checkRemains(ctx)
}

// checkRemains refuses where claims or Secrets are left of a cluster with the name. It is not known whether a drill has
// made them, so that a person decides.
func (d *drill) checkRemains(ctx context.Context) error {
	c := topology.New(&v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: d.cluster.Namespace, Name: backup.DrillName(d.cluster.Name)}})
	of := topology.LabelInstance + "=" + c.Instance
	claims, err := d.session.Kube.CoreV1().PersistentVolumeClaims(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: of})
	if err != nil {
		return fmt.Errorf("list claims of cluster %s/%s: %w", c.Namespace, c.Name, err)
	}
	if len(claims.Items) > 0 {
		return remedy.For(exit.Refusef("claims of an earlier cluster %s/%s are there, with their data; nothing was changed", c.Namespace, c.Name),
			remedy.Run("see them", c.Kubectl("get", "pvc", "-l", of)), remedy.Run("delete them, if a drill has left them", c.Plugin("delete", "--delete-pvcs")))
	}
	var secrets []string
	for _, name := range append(issue.Names(c), c.InitSecret()) {
		switch _, err := d.session.Kube.CoreV1().Secrets(c.Namespace).Get(ctx, name, metav1.GetOptions{}); {
		case err == nil:
			secrets = append(secrets, name)
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("read secret %s/%s: %w", c.Namespace, name, err)
		}
	}
	if len(secrets) > 0 {
		return remedy.For(exit.Refusef("Secrets of an earlier cluster %s/%s are there: %s; nothing was changed", c.Namespace, c.Name, strings.Join(secrets, ", ")),
			remedy.Run("delete them, if a drill has left them", c.Kubectl(append([]string{"delete", "secret"}, secrets...)...)))
	}
	return nil
}

// made returns the cluster that an earlier drill has made, nil for none. It refuses a cluster that no drill has made.
func (d *drill) made(ctx context.Context) (*v1alpha1.TidbCluster, error) {
	name := backup.DrillName(d.cluster.Name)
	client, err := d.f.Within("").Intent()
	if err != nil {
		return nil, err
	}
	there, err := client.Load(ctx, d.cluster.Namespace, name)
	if bad, malformed := errors.AsType[*intent.MalformedError](err); malformed {
		there, err = bad.Cluster, nil
	}
	if _, none := errors.AsType[*intent.NotFoundError](err); none {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if there.Annotations[backup.AnnotationDrill] == "" {
		return nil, exit.Refusef("cluster %s/%s exists, and no drill has made it, so that it stays; nothing was changed", there.Namespace, there.Name)
	}
	return there, nil
}

func (d *drill) cancellation() remedy.Command {
	return remedy.Plugin(d.cluster.Namespace, "backup", "drill", d.cluster.Name, "--cancel")
}

// preview says what would be made.
func (d *drill) preview() error {
	s := d.beside.Spec
	fmt.Fprintf(d.f.Streams.Out, "drill of backup %s of %s\n  tidbcluster.pingcap.com/%s would be created, with PD %d, TiKV %d and TiDB %d\n",
		d.backup.Name, target.Title(d.cluster), d.beside.Name, s.PD.Replicas, s.TiKV.Replicas, s.TiDB.Replicas)
	fmt.Fprintf(d.f.Streams.Out, "  %s would be restored into it, compared with the rows of %s, and deleted\n",
		d.scope.Scope(), backup.DataOf(&d.backup).UTC().Format(time.RFC3339))
	return nil
}

// unread says why the rows of the cluster cannot be read as of the time of the backup.
func (d *drill) unread(err error) error {
	switch {
	case errors.Is(err, tidb.ErrNotAll):
		return remedy.For(exit.Refusef("%w, so that rows could be missing which nobody compares; nothing was changed", err),
			remedy.Say("give a user with -u who has the privilege SELECT on *.*, and had it when the backup was made"))
	case !tidb.TooOld(err):
		return err
	}
	at := backup.DataOf(&d.backup).UTC().Format(time.RFC3339)
	return remedy.For(exit.Refusef("TiDB does not have the data of %s any more, the time of backup %s, so that restored rows could not be compared (%w); nothing was changed", at, d.backup.Name, err),
		remedy.Say("drill a backup soon after it was made"),
		remedy.Run("keep earlier data for longer from now on", d.cluster.Plugin("sql", "-e", "SET GLOBAL tidb_gc_life_time = '24h'")))
}

// restore makes the other cluster, restores the backup, and reads what it has then.
func (d *drill) restore(ctx context.Context, login tidb.Login) (sums, error) {
	f := d.f.Within("")
	s, err := target.Connect(f, d.beside.Namespace, d.beside.Name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := create.Make(ctx, f, s, flags.Options{Wait: true, Yes: true, Reports: &output.Documents{}}, d.beside, nil); err != nil {
		return nil, err
	}
	on, err := connect(ctx, f, []string{d.beside.Name})
	if err != nil {
		return nil, err
	}
	defer on.session.Close()
	o := restoreOptions{name: []string{d.beside.Name}, from: d.backup.Name, asked: d.asked}
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := newRestoration(o, on).make(ctx); err != nil {
		return nil, err
	}
	return d.readRestored(ctx, f, on, login)
}

// readRestored reads what the other cluster has. BR of v7.6 and later restores the accounts as well, as they were at the time
// of the backup. Where the user has no right there, root has the password that the other cluster was made with.
func (d *drill) readRestored(ctx context.Context, f *factory.Factory, on work, login tidb.Login) (restored sums, err error) {
	for _, as := range []sql.Access{sql.As(login.User, login.Password), sql.AsRoot} {
		var db *dbsql.DB
		if db, _, err = sql.Open(ctx, f, on.session, on.cluster, as); err == nil {
			restored, err = readSums(ctx, f, db, target.Title(on.cluster), d.scope, 0)
			_ = db.Close()
		}
		if !tidb.Denied(err) && !errors.Is(err, tidb.ErrNotAll) {
			return restored, err
		}
	}
	return nil, remedy.For(fmt.Errorf("the restored tables cannot be read: %w", err),
		remedy.Say("give a user with -u who had the privilege SELECT on *.* when the backup was made, or make a new backup"))
}

// conclude compares the rows, and records the result in the Backup.
func (d *drill) conclude(ctx context.Context, was, restored sums) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	if others := was.differences(restored); len(others) > 0 {
		return errors.Join(
			remedy.For(exit.With(exit.Failure, fmt.Errorf("backup %s does not have the rows that %s had: %s", d.backup.Name, target.Title(d.cluster), remedy.FirstFew(others, "; "))),
				remedy.Say("make a new backup, and do not count on this one")),
			d.record(ctx, time.Time{}))
	}
	now := d.session.Now()
	if err := d.record(ctx, now); err != nil {
		return err
	}
	at := backup.DataOf(&d.backup).UTC().Format(time.RFC3339)
	if d.output.JSON() {
		return output.Write(d.f.Streams.Out, map[string]any{
			"name": d.backup.Name, "namespace": d.backup.Namespace, "cluster": d.cluster.Name, "dataTime": at,
			"tables": len(was), "rows": was.rows(), "drilled": now.UTC().Format(time.RFC3339),
		})
	}
	fmt.Fprintf(d.f.Streams.Out, "backup.pingcap.com/%s was restored, and has all rows that %s had at %s: %s in %s\n",
		d.backup.Name, target.Title(d.cluster), at, remedy.Count(int(was.rows()), "row", "rows"), remedy.Count(len(was), "table", "tables"))
	return nil
}

func (d *drill) record(ctx context.Context, at time.Time) error {
	if err := edge.RecordTime(ctx, d.dyn, &d.backup, backup.AnnotationDrilled, at); err != nil {
		return fmt.Errorf("the result of the drill is not recorded: %w", err)
	}
	return nil
}

// clean deletes the cluster that this run has made, unless the user wants to keep it.
func (d *drill) clean(ctx context.Context) error {
	if d.keep {
		fmt.Fprintf(d.f.Streams.ErrOut, "cluster %s/%s stays; delete it: %s\n", d.beside.Namespace, d.beside.Name, d.cancellation().Line(d.f.Context()))
		return nil
	}
	there, err := d.made(ctx)
	if err == nil && there != nil && there.Annotations[backup.AnnotationDrill] == d.id {
		err = d.delete(ctx, there)
	}
	if err != nil {
		return remedy.For(fmt.Errorf("what the drill has made is left: %w", exit.Ended(ctx, err)), remedy.Run("delete it", d.cancellation()))
	}
	return nil
}

// delete deletes a cluster of a drill with all data, the certificates and the password.
func (d *drill) delete(ctx context.Context, of *v1alpha1.TidbCluster) error {
	c := topology.New(of)
	if err := d.endRestore(ctx, c); err != nil {
		return err
	}
	return remove.Everything(ctx, d.f.Within(of.UID), c.Name)
}

// endRestore ends a restore that runs in the other cluster.
func (d *drill) endRestore(ctx context.Context, c topology.Cluster) error {
	job, err := d.jobs.Find(ctx, backup.Asked{Does: backup.Restores}.JobName(c))
	if err != nil || job == nil {
		return err
	}
	if err := d.jobs.Delete(ctx, job); err != nil {
		return err
	}
	_, err = d.jobs.AwaitEnd(ctx, job)
	return err
}

// cancelled deletes what an earlier drill has left.
func (d *drill) cancelled(ctx context.Context) error {
	there, err := d.made(ctx)
	switch {
	case err != nil:
		return err
	case there == nil:
		if err := d.checkRemains(ctx); err != nil {
			return err
		}
		return exit.Refusef("no drill of %s is under way, and none was left: there is no cluster %s; nothing was changed", target.Title(d.cluster), backup.DrillName(d.cluster.Name))
	case d.dryRun != flags.NoDryRun:
		fmt.Fprintf(d.f.Streams.Out, "cluster %s/%s would be deleted, with its data\n", there.Namespace, there.Name)
		return nil
	}
	if err := d.delete(ctx, there); err != nil {
		return err
	}
	fmt.Fprintf(d.f.Streams.Out, "the drill of %s is cancelled: cluster %s is deleted, with its data\n", target.Title(d.cluster), there.Name)
	return nil
}

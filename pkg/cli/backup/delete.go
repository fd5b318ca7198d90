package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/consent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
)

// deleteOptions are the flags and the arguments of "backup delete".
type deleteOptions struct {
	names   []string // of the Backups
	beside  string   // the name of a cluster
	files   *bool    // nil where the user does not say so
	asked   backup.Asked
	yes     bool
	dryRun  flags.DryRun
	timeout time.Duration
}

func newDelete(f *factory.Factory) *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{
		Use:   "delete BACKUP...",
		Short: "Delete backups, and their files in the bucket",
		Long: `Delete Backups, and with --files what BR has written for them. Without that flag, the files
are deleted where the Backup has cleanPolicy Delete, or OnFailure and has failed. All
Backups have to be of one cluster.

First a Job with rclone lists which backups are at the place. Nothing is deleted where another
backup is there, in a folder of the place or above it, or where BR reads or writes there.
Then a second Job deletes the files that BR writes for a backup, and no other file. What is
left there is named. The Backup itself comes last, so that the same command goes on after a
kill; meanwhile the backup counts for nothing and cannot be restored.

The pods run in the namespace of the Backups, with the cluster's node selector, tolerations and
pull secrets. Without --from-secret and --service-account, those of the Backup
are used. They must have the right to delete objects. A bucket with versions keeps the
earlier ones. Backups with the finalizer of tidb-operator are left to tidb-operator.`,
		Example: `  kubectl tidb backup delete basic-20260310-020000 --files

  # What would be deleted
  kubectl tidb backup delete basic-20260310-020000 --files --dry-run

  # Only the Backup; its files stay
  kubectl tidb backup delete basic-20260310-020000 --files=false --yes`,
		SuggestFor:        []string{"remove", "rm", "clean", "purge"},
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeBackups(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			if err := o.validate(cmd); err != nil {
				return err
			}
			return o.run(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&o.beside, "cluster", "", "Cluster beside which the pods run. Without it, that of the Backups.")
	_ = cmd.RegisterFlagCompletionFunc("cluster", target.Complete(f))
	o.bind(cmd, f)
	return cmd
}

func (o *deleteOptions) bind(cmd *cobra.Command, f *factory.Factory) {
	set := cmd.Flags()
	set.Bool("files", false, "Delete the files in the bucket as well. Without this flag, cleanPolicy of the Backup decides.")
	set.BoolVarP(&o.yes, "yes", "y", false, "Do not ask.")
	bindCredentials(cmd, f, &o.asked)
	set.StringVar(&o.asked.Image, "image", "", "Image of rclone. Without it, that is "+backup.FilesImage+".")
	o.dryRun.Bind(cmd)
	flags.BindTimeout(cmd, &o.timeout, 0, "Stop following after this long, e.g. 30m; the Job goes on. Zero follows to the end.")
}

func (o *deleteOptions) validate(cmd *cobra.Command) error {
	if cmd.Flags().Changed("files") {
		files, err := cmd.Flags().GetBool("files")
		if err != nil {
			return err
		}
		o.files = &files
	}
	if o.timeout < 0 {
		return exit.Usagef("--timeout must not be negative")
	}
	return nil
}

// chosen is a Backup that is to be deleted.
type chosen struct {
	v1alpha1.Backup
	files bool
	at    backup.Source // of its files
}

// deletion is one run of "backup delete" or "backup prune".
type deletion struct {
	deleteOptions
	work
	// goesOn: the other Backups are deleted after one was refused.
	goesOn bool
	all    []chosen
}

func (o deleteOptions) run(ctx context.Context, f *factory.Factory) error {
	ctx, cancel := exit.Within(ctx, o.timeout)
	defer cancel()
	namespace, found, err := read(ctx, f)
	if err != nil {
		return err
	}
	d := &deletion{deleteOptions: o, work: work{f: f}}
	return d.begin(ctx, namespace, found)
}

// begin deletes the named Backups among those that were found in a namespace.
func (d *deletion) begin(ctx context.Context, namespace string, found edge.Backups) (err error) {
	if d.dyn, err = d.f.Dynamic(); err != nil {
		return err
	}
	unfit := d.choose(ctx, namespace, found)
	if len(d.all) == 0 || unfit != nil && !d.goesOn {
		return unfit
	}
	if slices.ContainsFunc(d.all, func(c chosen) bool { return c.files }) {
		if d.work, err = connectBeside(ctx, d.f, &d.all[0].Backup, d.beside); err != nil {
			return err
		}
		defer d.session.Close()
	}
	if err := d.check(ctx); err != nil {
		if unfit = errors.Join(unfit, err); !d.goesOnAfter(err) || len(d.all) == 0 {
			return unfit
		}
	}
	if d.dryRun != flags.NoDryRun {
		return errors.Join(unfit, d.preview(ctx))
	}
	if !d.yes {
		if err := d.agreed(ctx, found.Items); err != nil {
			return err
		}
	}
	return errors.Join(unfit, d.deleteAll(ctx))
}

// deleteAll deletes the chosen Backups, one after the other.
func (d *deletion) deleteAll(ctx context.Context) error {
	var unfit []error
	for i := range d.all {
		err := d.one(ctx, &d.all[i])
		if err != nil {
			unfit = append(unfit, err)
		}
		if err != nil && !d.goesOnAfter(err) {
			break
		}
	}
	return errors.Join(unfit...)
}

// goesOnAfter reports whether the other Backups are deleted after one was refused.
func (d *deletion) goesOnAfter(err error) bool { return d.goesOn && exit.Of(err) == exit.Refused }

// choose finds the Backups, and refuses those that must not be deleted. The Backups of all namespaces
// are read, where that is permitted, because another Backup may name the same place.
func (d *deletion) choose(ctx context.Context, namespace string, found edge.Backups) error {
	everywhere, err := edge.List(ctx, d.dyn, namespace)
	if err != nil {
		return err
	}
	var unfit []error
	for i, name := range d.names {
		b, err := named(found, namespace, name)
		switch {
		case err != nil:
			return err
		case slices.Contains(d.names[:i], name):
			return exit.Usagef("backup %s is named twice; nothing was changed", name)
		}
		c := chosen{Backup: b, files: backup.DeletesFiles(&b)}
		if d.files != nil {
			c.files = *d.files
		}
		if err := d.unfit(&c, everywhere); err != nil {
			unfit = append(unfit, err)
			continue
		}
		d.all = append(d.all, c)
	}
	if slices.ContainsFunc(d.all, func(c chosen) bool { return c.files }) && !everywhere.Everywhere {
		fmt.Fprintf(d.f.Streams.ErrOut, "warning: only the Backups of namespace %s could be read; those of others may name the same places\n", namespace)
	}
	return errors.Join(unfit...)
}

// unfit returns why a Backup must not be deleted, nil where it may be.
func (d *deletion) unfit(c *chosen, all edge.Backups) error {
	b := &c.Backup
	switch why := backup.Undeletable(b); {
	case why != "":
		return remedy.For(exit.Refusef("backup %s cannot be deleted: it %s; nothing of it was changed", b.Name, why), instead(b)...)
	case isOfOtherNamespace(b) && c.files && d.beside == "":
		return exit.Usagef("backup %s is of cluster %s/%s in another namespace: name one of namespace %s with --cluster; nothing of it was changed",
			b.Name, b.Spec.BR.ClusterNamespace, b.Spec.BR.Cluster, b.Namespace)
	case clusterOf(b) != clusterOf(d.firstChosen(b)):
		return exit.Usagef("backup %s is of cluster %s, and backup %s of cluster %s: name Backups of one cluster; nothing of it was changed",
			d.firstChosen(b).Name, clusterOf(d.firstChosen(b)), b.Name, clusterOf(b))
	case !c.files && backup.IsMarked(b):
		return remedy.For(exit.Refusef("the files of backup %s are being deleted; nothing of it was changed", b.Name),
			remedy.Run("go on", remedy.Plugin(b.Namespace, "backup", "delete", b.Name, "--files")))
	case !c.files:
		return nil
	case len(all.Unread) > 0:
		return remedy.For(exit.Refusef("the files of backup %s cannot be deleted: another Backup may name the same place: %s; nothing of it was changed",
			b.Name, remedy.FirstFew(all.Unread, "; ")), leaveFiles(b))
	}
	from, flaw := backup.FilesOf(b, all.Items)
	if flaw != "" {
		return remedy.For(exit.Refusef("the files of backup %s cannot be deleted: it %s; nothing of it was changed", b.Name, flaw), leaveFiles(b))
	}
	c.at = from
	return nil
}

// firstChosen returns the first chosen Backup, or b where there is none yet.
func (d *deletion) firstChosen(b *v1alpha1.Backup) *v1alpha1.Backup {
	if len(d.all) > 0 {
		return &d.all[0].Backup
	}
	return b
}

// clusterOf returns the namespace and the name of the cluster of a Backup.
func clusterOf(b *v1alpha1.Backup) string {
	return cmp.Or(b.Spec.BR.ClusterNamespace, b.Namespace) + "/" + b.Spec.BR.Cluster
}

// instead returns what helps with a Backup that must not be deleted here.
func instead(b *v1alpha1.Backup) []remedy.Action {
	resource := edge.Resource.GroupResource().String()
	if backup.IsProtected(b) && b.DeletionTimestamp == nil {
		return []remedy.Action{
			remedy.Run("have tidb-operator delete it", remedy.Kubectl(b.Namespace, "delete", resource, b.Name)),
			remedy.Run("where no tidb-operator runs, take its finalizers away", remedy.Kubectl(b.Namespace, "patch", resource, b.Name, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)),
		}
	}
	return []remedy.Action{remedy.Run("see what it does", remedy.Plugin(b.Namespace, "backup", "show", b.Name))}
}

// check refuses deletions that could not succeed, before anything is deleted. What is refused is not chosen any more.
func (d *deletion) check(ctx context.Context) error {
	var fit []chosen
	var unfit []error
	for i := range d.all {
		c := &d.all[i]
		var job *batchv1.Job
		var err error
		if c.files {
			job, err = d.earlier(ctx, d.wanted(c, backup.Deletes))
		}
		if c.files && err == nil && job == nil {
			err = d.checkUse(ctx, c)
		}
		switch {
		case err == nil:
			fit = append(fit, *c)
		case d.goesOnAfter(err):
			unfit = append(unfit, err)
		default:
			return err
		}
	}
	d.all = fit
	return errors.Join(unfit...)
}

// agreed asks the user. The last backup of a cluster is named as such.
func (d *deletion) agreed(ctx context.Context, all []v1alpha1.Backup) error {
	var effects []string
	var last []v1alpha1.Backup
	for i := range d.all {
		effects = append(effects, d.all[i].effect("is"))
		last = append(last, d.all[i].Backup)
	}
	first := &d.all[0].Backup
	cluster := clusterOf(first)
	tc := &v1alpha1.TidbCluster{}
	tc.Namespace, tc.Name, _ = strings.Cut(cluster, "/")
	if backup.Of(tc, last).Newest != "" && backup.OthersOf(tc, all, d.names).Newest == "" {
		effects = append(effects, "cluster "+cluster+" has no other complete backup of all its data in this namespace")
	}
	return consent.Ask(ctx, d.f, consent.Question{
		Namespace: first.Namespace, Name: tc.Name, Doing: fmt.Sprintf("delete %s of cluster %s", remedy.Count(len(d.all), "backup", "backups"), cluster), Effects: effects,
	})
}

// effect says what the deletion of a Backup takes away.
func (c *chosen) effect(is string) string {
	text := "backup " + c.Name
	if at := backup.DataOf(&c.Backup); !at.IsZero() {
		text += " with the data of " + at.UTC().Format(time.RFC3339)
	}
	switch {
	case c.files:
		return fmt.Sprintf("%s %s deleted with its files (%s) at %s, for good", text, is, backup.Readable(c.Status.BackupSize), c.at.Path())
	case c.Status.BackupPath != "":
		return fmt.Sprintf("%s %s deleted; its files at %s stay", text, is, c.Status.BackupPath)
	}
	return text + " " + is + " deleted"
}

// preview says what would be done.
func (d *deletion) preview(ctx context.Context) error {
	for i := range d.all {
		c := &d.all[i]
		fmt.Fprintln(d.f.Streams.Out, c.effect("would be"))
		if !c.files {
			continue
		}
		for _, does := range []backup.Work{backup.Lists, backup.Deletes} {
			request := d.wanted(c, does)
			old, err := d.jobs.Find(ctx, request.JobName(d.cluster))
			switch {
			case err != nil:
				return err
			case old != nil:
				fmt.Fprintf(d.f.Streams.Out, "job.batch/%s is there already\n", old.Name)
				continue
			}
			if err := d.previewJob(ctx, request, d.dryRun); err != nil {
				return err
			}
		}
	}
	return nil
}

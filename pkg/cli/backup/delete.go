package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/consent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
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
backup is there or in a folder of the place, or where BR reads or writes there. Then a
second Job deletes the files that BR has written for this backup, and no other file. What
is left there is named. The Backup itself comes last, so that the same command goes on
after a kill; meanwhile the backup counts for nothing and cannot be restored.

The pods run in the namespace of the Backups' cluster, with the node selector, tolerations and
pull secrets of the cluster. Without --from-secret and --service-account, those of the Backup
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

// completeBackups completes arguments that are names of Backups. A name that was given is not offered again.
func completeBackups(f *factory.Factory) cobra.CompletionFunc {
	complete := target.CompleteResource(f, edge.Resource.GroupResource().String())
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		offered, directive := complete(cmd, nil, begin)
		return slices.DeleteFunc(offered, func(name string) bool { return slices.Contains(args, name) }), directive
	}
}

// chosen is a Backup that is to be deleted.
type chosen struct {
	v1alpha1.Backup
	files bool
	at    backup.Source // of its files
}

// deletion is one run of "backup delete".
type deletion struct {
	deleteOptions
	work
	of  string // the cluster of the Backups
	all []chosen
}

func (o deleteOptions) run(ctx context.Context, f *factory.Factory) error {
	ctx, cancel := exit.Within(ctx, o.timeout)
	defer cancel()
	namespace, found, err := read(ctx, f)
	if err != nil {
		return err
	}
	return o.begin(ctx, f, namespace, found)
}

// begin deletes the Backups of some names among those that were found in a namespace.
func (o deleteOptions) begin(ctx context.Context, f *factory.Factory, namespace string, found edge.Backups) (err error) {
	d := &deletion{deleteOptions: o, work: work{f: f}}
	if d.dyn, err = f.Dynamic(); err != nil {
		return err
	}
	if err := d.choose(ctx, namespace, found); err != nil {
		return err
	}
	if slices.ContainsFunc(d.all, func(c chosen) bool { return c.files }) {
		if err := d.connect(ctx); err != nil {
			return err
		}
		defer d.session.Close()
	}
	if d.dryRun != flags.NoDryRun {
		return d.preview(ctx)
	}
	if !o.yes {
		if err := d.agreed(ctx, namespace, found.Items); err != nil {
			return err
		}
	}
	for i := range d.all {
		if err := d.one(ctx, &d.all[i]); err != nil {
			return err
		}
	}
	return nil
}

// choose finds the Backups, and refuses those that must not be deleted. Where it may, it reads the Backups of all
// namespaces, because another Backup may have its files at the same place.
func (d *deletion) choose(ctx context.Context, namespace string, found edge.Backups) error {
	everywhere, err := edge.List(ctx, d.dyn, namespace)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, name := range d.names {
		b, err := named(found, namespace, name)
		if err != nil {
			return err
		}
		if seen[name] {
			return exit.Usagef("backup %s is named twice; nothing was changed", name)
		}
		seen[name] = true
		c := chosen{Backup: b, files: backup.DeletesFiles(&b)}
		if d.files != nil {
			c.files = *d.files
		}
		if why := backup.Undeletable(&b); why != "" {
			return remedy.For(exit.Refusef("backup %s cannot be deleted: it %s; nothing was changed", name, why), d.instead(&b)...)
		}
		if c.files {
			var flaw string
			if c.at, flaw = backup.FilesOf(&b, everywhere.Items); flaw != "" {
				return remedy.For(exit.Refusef("the files of backup %s cannot be deleted: it %s; nothing was changed", name, flaw), leaveFiles(&b))
			}
		}
		if br := b.Spec.BR; br != nil && d.of != "" && br.Cluster != d.of {
			return exit.Usagef("backup %s is of cluster %s, and backup %s of cluster %s: name Backups of one cluster; nothing was changed", d.names[0], d.of, name, br.Cluster)
		} else if br != nil {
			d.of = br.Cluster
		}
		d.all = append(d.all, c)
	}
	return nil
}

// instead returns what helps with a Backup that must not be deleted here.
func (d *deletion) instead(b *v1alpha1.Backup) []remedy.Action {
	if len(b.Finalizers) > 0 && b.DeletionTimestamp == nil {
		return []remedy.Action{remedy.Run("have tidb-operator delete it", remedy.Kubectl(b.Namespace, "delete", edge.Resource.GroupResource().String(), b.Name))}
	}
	return []remedy.Action{remedy.Run("see what it does", remedy.Plugin(b.Namespace, "backup", "show", b.Name))}
}

// connect connects to the cluster beside which the pods run.
func (d *deletion) connect(ctx context.Context) error {
	cluster := d.of
	if d.beside != "" {
		cluster = d.beside
	}
	if cluster == "" {
		return exit.Usagef("backup %s does not say of which cluster it is: name one with --cluster; nothing was changed", d.names[0])
	}
	on, err := connect(ctx, d.f, []string{cluster})
	if _, gone := errors.AsType[*intent.NotFoundError](err); gone {
		return remedy.For(err, remedy.Say("name a cluster of this namespace with --cluster"))
	}
	d.work = on
	return err
}

// agreed asks the user. The last backup of a cluster is named as such.
func (d *deletion) agreed(ctx context.Context, namespace string, all []v1alpha1.Backup) error {
	var effects []string
	for i := range d.all {
		effects = append(effects, d.all[i].effect())
	}
	client, err := d.f.Intent()
	if err != nil {
		return err
	}
	if tc, err := client.Load(ctx, namespace, d.of); err == nil && backup.OthersOf(tc, all, d.names).Newest == "" {
		effects = append(effects, "cluster "+d.of+" has no other complete backup of all its data")
	}
	return consent.Ask(ctx, d.f, consent.Question{
		Namespace: namespace, Name: d.of, Doing: fmt.Sprintf("delete %s of cluster %s/%s", remedy.Count(len(d.all), "backup", "backups"), namespace, d.of), Effects: effects,
	})
}

// effect says what the deletion of a Backup takes away.
func (c *chosen) effect() string {
	text := "backup " + c.Name
	if at := backup.DataOf(&c.Backup); !at.IsZero() {
		text += " with the data of " + at.UTC().Format(time.RFC3339)
	}
	switch {
	case c.files:
		return fmt.Sprintf("%s is deleted with its files (%s) at %s, for good", text, backup.Readable(c.Status.BackupSize), c.at.Path())
	case c.Status.BackupPath != "":
		return fmt.Sprintf("%s is deleted; its files at %s stay", text, c.Status.BackupPath)
	}
	return text + " is deleted"
}

// preview says what would be done.
func (d *deletion) preview(ctx context.Context) error {
	for i := range d.all {
		c := &d.all[i]
		fmt.Fprintln(d.f.Streams.Out, c.effect())
		if c.files {
			if err := d.ready(ctx, c); err != nil {
				return err
			}
			for _, does := range []backup.Work{backup.Lists, backup.Deletes} {
				if err := d.previewJob(ctx, d.wanted(c, does), d.dryRun); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

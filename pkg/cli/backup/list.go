package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// view is the JSON form of a backup.
type view struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	Scope     string `json:"scope"`
	Phase     string `json:"phase"`
	Path      string `json:"path,omitempty"`
	Size      int64  `json:"sizeBytes"`
	CommitTS  string `json:"commitTs,omitempty"`
	DataTime  string `json:"dataTime,omitempty"`
	Image     string `json:"image,omitempty"`
	Finished  string `json:"finished,omitempty"`
	Taken     string `json:"taken,omitempty"`
	Verified  string `json:"verified,omitempty"` // when all files were found intact
	Damaged   string `json:"damaged,omitempty"`  // when a file was found damaged or gone
	Drilled   string `json:"drilled,omitempty"`  // when a drill found all rows after a restore
}

// ofBackup is what "-o name" prints.
var ofBackup = schema.GroupVersionKind{Group: edge.Resource.Group, Version: edge.Resource.Version, Kind: "Backup"}

func newList(f *factory.Factory) *cobra.Command {
	o := output.Objects{About: ofBackup}
	cmd := &cobra.Command{
		Use:   "list [NAME]",
		Short: "Show the backups of a cluster",
		Long: `Show the backups of a cluster, with the newest data first. Each row has what was saved, the
time of the data, the size and the place. The command reads all Backups of the cluster, also
Backups that tidb-operator has made. Without NAME the command shows the backups of all
clusters of the namespace, also of clusters that were deleted.`,
		Example: `  kubectl tidb backup list basic

  # Where is the newest one?
  kubectl tidb backup list basic -o json |
    jq -r '[.items[] | select(.phase == "Complete")][0].path'`,
		SuggestFor:        []string{"get", "ls"},
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			return list(cmd.Context(), f, &o, args)
		},
	}
	o.Bind(cmd)
	return cmd
}

// read returns the Backups of the namespace, the newest data first.
func read(ctx context.Context, f *factory.Factory) (namespace string, all edge.Backups, err error) {
	if namespace, err = f.Namespace(); err != nil {
		return "", all, err
	}
	dyn, err := f.Dynamic()
	if err != nil {
		return "", all, err
	}
	shown := spin.On(f, "reading backups")
	all, err = edge.Of(ctx, dyn, namespace)
	shown.Stop()
	if none, ok := errors.AsType[*edge.NoResourceError](err); ok {
		err = undefined(none, "there are none")
	}
	slices.SortStableFunc(all.Items, func(a, b v1alpha1.Backup) int {
		return cmp.Or(backup.DataOf(&b).Compare(backup.DataOf(&a)), cmp.Compare(a.Name, b.Name))
	})
	return namespace, all, err
}

// undefined refuses to go on where the API server does not know Backups. The consequence says what that means.
func undefined(none *edge.NoResourceError, consequence string) error {
	return remedy.For(exit.Refusef("%w, so %s", none, consequence), remedy.Run("install their definition", remedy.Plugin("", "init")))
}

// meant refuses a cluster of another UID than the user means. One that is gone may have backups.
func meant(ctx context.Context, f *factory.Factory, name string) error {
	namespace, err := f.Namespace()
	if err != nil {
		return err
	}
	client, err := f.Intent()
	if err != nil {
		return err
	}
	_, err = client.Load(ctx, namespace, name)
	_, gone := errors.AsType[*intent.NotFoundError](err)
	_, unknown := errors.AsType[*intent.NoResourceError](err)
	_, malformed := errors.AsType[*intent.MalformedError](err)
	if gone || unknown || malformed {
		return nil
	}
	return err
}

// isOfOtherNamespace reports whether a Backup is of a cluster in another namespace.
func isOfOtherNamespace(b *v1alpha1.Backup) bool {
	return b.Spec.BR != nil && b.Spec.BR.ClusterNamespace != "" && b.Spec.BR.ClusterNamespace != b.Namespace
}

func list(ctx context.Context, f *factory.Factory, o *output.Objects, name []string) error {
	if len(name) > 0 {
		if err := meant(ctx, f, name[0]); err != nil {
			return err
		}
	}
	namespace, all, err := read(ctx, f)
	if err != nil {
		return err
	}
	for _, u := range all.Unread {
		fmt.Fprintf(f.Streams.ErrOut, "warning: %s\n", u)
	}
	var items []unstructured.Unstructured
	var rows [][]string
	for i := range all.Items {
		v := recorded(&all.Items[i])
		if len(name) > 0 && (v.Cluster != name[0] || isOfOtherNamespace(&all.Items[i])) {
			continue
		}
		object, err := output.Object("BackupSummary", v.Namespace, v.Name, v)
		if err != nil {
			return err
		}
		items = append(items, *object)
		rows = append(rows, []string{v.Name, v.Cluster, v.Scope, v.Phase, dash(v.DataTime), backup.Readable(v.Size), dash(v.Path)})
	}
	switch {
	case !o.Table():
		return o.Print(f.Streams.Out, output.List("BackupSummary", items))
	case len(rows) == 0:
		fmt.Fprintf(f.Streams.ErrOut, "there are no backups in namespace %s\n", namespace)
		return nil
	}
	return report.Table(f.Streams.Out, []string{"NAME", "CLUSTER", "OF", "STATUS", "DATA OF", "SIZE", "WHERE"}, rows)
}

func dash(s string) string { return cmp.Or(s, "-") }

func newShow(f *factory.Factory) *cobra.Command {
	o := output.Objects{About: ofBackup}
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one backup",
		Long: `Show one backup: what it has and from when, its size, the image that has made it, where it
is, when it was finished, and why it has failed, if so. NAME is the name of the Backup, as "backup list" shows it.`,
		Example:           `  kubectl tidb backup show basic-20260310-020000`,
		SuggestFor:        []string{"describe"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeBackup(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			return show(cmd.Context(), f, &o, args[0])
		},
	}
	o.Bind(cmd)
	return cmd
}

// completeBackup completes an argument that is the name of a Backup.
func completeBackup(f *factory.Factory) cobra.CompletionFunc {
	all := completeBackups(f)
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return all(cmd, args, begin)
	}
}

// completeBackups completes arguments that are names of Backups. A name that was given is not offered again.
func completeBackups(f *factory.Factory) cobra.CompletionFunc {
	complete := target.CompleteResource(f, edge.Resource.GroupResource().String())
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		offered, directive := complete(cmd, nil, begin)
		return slices.DeleteFunc(offered, func(name string) bool { return slices.Contains(args, name) }), directive
	}
}

// find returns the Backup of a name.
func find(ctx context.Context, f *factory.Factory, name string) (v1alpha1.Backup, error) {
	namespace, all, err := read(ctx, f)
	if err != nil {
		return v1alpha1.Backup{}, err
	}
	return named(all, namespace, name)
}

// named returns the Backup of a name among those of a namespace.
func named(all edge.Backups, namespace, name string) (v1alpha1.Backup, error) {
	i := slices.IndexFunc(all.Items, func(b v1alpha1.Backup) bool { return b.Name == name })
	if i < 0 {
		return v1alpha1.Backup{}, remedy.For(exit.Usagef("there is no backup %s in namespace %s", name, namespace),
			remedy.Run("see those that are there", remedy.Plugin(namespace, "backup", "list")))
	}
	return all.Items[i], nil
}

func show(ctx context.Context, f *factory.Factory, o *output.Objects, name string) error {
	found, err := find(ctx, f, name)
	if err != nil {
		return err
	}
	b := &found
	v := recorded(b)
	if !o.Table() {
		object, err := output.Object("BackupSummary", v.Namespace, v.Name, v)
		if err != nil {
			return err
		}
		return o.Print(f.Streams.Out, object)
	}
	rows := [][]string{
		{"Backup", v.Namespace + "/" + v.Name}, {"Cluster", v.Cluster}, {"Of", v.Scope}, {"Status", v.Phase}, {"Data of", dash(v.DataTime)},
		{"Timestamp", dash(v.CommitTS)}, {"Size", fmt.Sprintf("%s (%d bytes)", backup.Readable(v.Size), v.Size)}, {"Image", dash(v.Image)},
		{"Where", dash(v.Path)}, {"Finished", dash(v.Finished)}, {"Taken", dash(v.Taken)}, {"Verified", dash(v.Verified)}, {"Drilled", dash(v.Drilled)},
	}
	for _, r := range rows {
		fmt.Fprintf(f.Streams.Out, "%-10s %s\n", r[0]+":", r[1])
	}
	if v.Damaged != "" {
		fmt.Fprintf(f.Streams.Out, "%-10s %s\n", "Damaged:", v.Damaged)
	}
	if message := backup.Why(b); message != "" {
		fmt.Fprintf(f.Streams.Out, "%-10s %s\n", "Reason:", message)
	}
	return nil
}

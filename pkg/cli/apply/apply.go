// Package apply is the verb that applies a manifest.
package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// options are the verb's flags.
type options struct {
	flags.Options
	Files
	name           []string // the argument that picks one of several TidbClusters
	forceConflicts bool
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "apply [NAME] (-f FILE | -k FOLDER)",
		Short: "Take clusters to what manifests say",
		Long: `Apply a TidbCluster manifest, as "kubectl apply --server-side" does, and take the
cluster there. The cluster is made if it does not exist.

The manifest is a file, a folder, a URL or standard input (-f), or what kustomize makes of
a folder (-k). Objects of other kinds are named, and left for "kubectl apply".

Manifests may have several TidbClusters, and NAME picks one of them. All are checked before
anything is written. Then each is written and driven to its end before the next: parts of a
database after the part with PD, which they use, or before it where PD is to be suspended.
Others come in the order of the manifests. A part is left as it is where the run that it
comes after does not end well. The exit code is that of the run that ended worst.

The manifest is read strictly: a field that does not exist is an error, with its file and
line. All that stands against it is said at once, and then nothing is changed: what is
not valid or not supported, a lower version, a component taken out, a storage class
that does not exist. A field that another manager has set to another value is refused as
well, until --force-conflicts takes it over.

A manifest with "paused: true" is written and not carried out: the command ends with
exit code 6, and "kubectl tidb sync" goes on when the cluster is not paused any more.
One with suspendAction.suspendStatefulSet, for all or for a component, takes the pods
away and keeps the data; without it they come back.
A larger spec.<component>.requests.storage makes the volumes that there are larger,
without a restart, if their storage class lets them grow (allowVolumeExpansion).
No volume shrinks, and none changes its storage class: with a smaller size or another
spec.<component>.storageClassName all members of the component get new volumes, one
after another, as "kubectl tidb replace" gives them. You are asked before.`,
		Example: `  # Take a cluster to what a file says
  kubectl tidb apply -f basic.yaml

  # In a pipeline: does anything have to be done? Exits with 10 if so
  kubectl tidb apply -f basic.yaml --dry-run --exit-code

  # From a folder and the folders in it
  kubectl tidb apply -R -f clusters/basic

  # One of several clusters
  kubectl tidb apply basic -f clusters/

  # With kustomize
  kubectl tidb apply -k overlays/production

  # From another program
  helm template basic | kubectl tidb apply -f -`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args
			if err := o.validate(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.bind(cmd)
	return cmd
}

func (o *options) bind(cmd *cobra.Command) {
	o.Options.Bind(cmd)
	o.BindFieldManager(cmd)
	o.BindEviction(cmd)
	o.BindConcurrency(cmd)
	o.BindStop(cmd)
	o.Files.Bind(cmd)
	cmd.Flags().BoolVar(&o.forceConflicts, "force-conflicts", false, "Take over fields that another manager has set to another value.")
	o.BindForce(cmd, "the manifest")
}

// validate refuses flags that do not go together.
func (o *options) validate() error {
	if err := o.Validate(); err != nil {
		return err
	}
	if o.DryRun == flags.ClientDryRun {
		return exit.Usagef("--dry-run=client does not go with apply, which is server-side: only the API server knows the fields that others have set; use --dry-run=server")
	}
	return nil
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	all, others, err := o.read(ctx, f, o.name)
	if err != nil {
		return err
	}
	if len(all) > 1 {
		return o.several(ctx, f, all, others)
	}
	s, r, err := o.open(ctx, f, all[0], others)
	if err != nil {
		return err
	}
	defer s.Close()
	return drive.Run(ctx, f, s, o.Options, r)
}

// Open reads the manifest, and connects to its cluster. The name picks one of several. The request is what apply does
// without further flags.
func (o Files) Open(ctx context.Context, f *factory.Factory, name []string) (*target.Session, check.Request, error) {
	all, others, err := o.read(ctx, f, name)
	switch {
	case err != nil:
		return nil, check.Request{}, err
	case len(all) > 1:
		return nil, check.Request{}, exit.Usagef("%s has %d TidbClusters: name one of %s", o, len(all), names(all))
	}
	return options{Files: o}.open(ctx, f, all[0], others)
}

// Given reports whether any of the flags was given.
func (o Files) Given() bool { return o.Kustomize != "" || len(o.Filenames) > 0 }

func (o options) open(ctx context.Context, f *factory.Factory, m *intent.Manifest, others []intent.Other) (*target.Session, check.Request, error) {
	s, err := target.Connect(f, m.Cluster.Namespace, m.Cluster.Name)
	if err != nil {
		return nil, check.Request{}, err
	}
	r, err := o.request(ctx, f, s, m, others)
	if err != nil {
		s.Close()
		return nil, check.Request{}, err
	}
	return s, r, nil
}

func (o options) request(ctx context.Context, f *factory.Factory, s *target.Session, m *intent.Manifest, others []intent.Other) (check.Request, error) {
	r := check.Request{
		Action: "apply " + o.String(), Keep: true, Warnings: m.Lost(),
		Change: intent.Change{Write: func(ctx context.Context, w intent.Write) error {
			_, err := o.write(ctx, s.Intent, m, w)
			return err
		}},
	}
	write := r.Write
	r.Write = func(ctx context.Context, w intent.Write) error {
		if r.Now != nil {
			if err := s.Intent.Record(ctx, r.Now, r.Want, w); err != nil {
				return err
			}
		}
		return write(ctx, w)
	}
	if len(others) > 0 {
		r.Warnings = append(r.Warnings, "only TidbClusters are applied"+beside(others))
	}
	r.With = func(version string) remedy.Action {
		return remedy.Say(fmt.Sprintf("go on with the data: write spec.version: %s into the manifest, and run the same command again", version))
	}
	var err error
	var missing *intent.NotFoundError
	var bad *intent.MalformedError
	switch r.Now, err = s.Load(ctx); {
	case errors.As(err, &bad):
		r.Now = bad.Cluster // the manifest may correct it
	case err != nil && !errors.As(err, &missing):
		return r, err
	}
	// Only the API server knows the result of the manifest, since it knows the fields that others
	// have set.
	r.Want, r.Refusal = o.write(ctx, s.Intent, m, intent.Write{DryRun: true})
	if r.Refusal != nil || bad != nil {
		return r, nil
	}
	return check.WithNewVolumes(ctx, f, s, r)
}

// write applies the manifest. Fields that this tool has set, by another verb, are no conflict: the
// same user has set them, and the manifest is newer.
func (o options) write(ctx context.Context, c *intent.Client, m *intent.Manifest, w intent.Write) (*v1alpha1.TidbCluster, error) {
	w.Force, w.Manager = o.forceConflicts, o.FieldManager
	got, err := c.Apply(ctx, m, w)
	clash, ok := errors.AsType[*intent.ConflictError](err)
	if !ok {
		return got, err
	}
	if clash.Fields = o.ofOthers(clash.Fields); len(clash.Fields) > 0 {
		return got, err
	}
	w.Force = true
	return c.Apply(ctx, m, w)
}

// ofOthers returns the fields that neither apply nor another verb has set.
func (o options) ofOthers(fields []intent.OwnedField) []intent.OwnedField {
	return slices.DeleteFunc(fields, func(f intent.OwnedField) bool {
		return f.Manager == intent.FieldManager || f.Manager == o.FieldManager
	})
}

// Package install is the verb "init": it installs the definitions of TidbCluster and Backup.
package install

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/crd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// established bounds the wait for the API server to serve the new resource.
const established = 30 * time.Second

// options are the verb's flags.
type options struct {
	forceConflicts bool
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Install the CRDs of TidbCluster and Backup",
		Long: `Install the CustomResourceDefinitions of TidbClusters and Backups, by server-side apply.
Those that this command has installed are brought up to date. One with another manager,
such as the Helm chart of tidb-operator, is left as it is: clusters work with it, but
"kubectl wait" cannot see there whether a Ready is from before the last change.

It needs the permission to patch customresourcedefinitions.`,
		Example:    `  kubectl tidb init`,
		SuggestFor: []string{"install", "setup"},
		Args:       cobra.NoArgs,
		RunE:       func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.forceConflicts, "force-conflicts", false, "Replace a definition that has another manager.")
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	dyn, err := f.Dynamic()
	if err != nil {
		return err
	}
	for _, read := range []func() (*unstructured.Unstructured, error){crd.TidbClusters, crd.Backups} {
		want, err := read()
		if err != nil {
			return err
		}
		if err := apply(ctx, f, dyn.Resource(definitions), want, o); err != nil {
			return err
		}
	}
	return nil
}

// apply installs one definition.
func apply(ctx context.Context, f *factory.Factory, client dynamic.ResourceInterface, want *unstructured.Unstructured, o options) error {
	name, result := want.GetName(), "is installed"
	got, err := client.Apply(ctx, name, want, metav1.ApplyOptions{FieldManager: intent.FieldManager, Force: o.forceConflicts})
	if apierrors.IsConflict(err) {
		result = "is there already and has another manager, so it was left alone; replace it with --force-conflicts"
		got, err = client.Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("apply customresourcedefinition %s: %w", name, err)
	}
	kind, _, _ := unstructured.NestedString(want.Object, "spec", "names", "kind")
	shown := spin.On(f, "waiting until the API server serves "+kind+"s")
	err = serve(ctx, client, got)
	shown.Stop()
	if err != nil {
		return exit.Ended(ctx, err)
	}
	fmt.Fprintf(f.Streams.Out, "customresourcedefinition %s %s\n", name, result)
	return nil
}

// serve waits until the API server serves the resource, so that the command
// after this one finds it.
func serve(ctx context.Context, client dynamic.ResourceInterface, got *unstructured.Unstructured) error {
	if isEstablished(got) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, established)
	defer cancel()
	w, err := client.Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + got.GetName(), ResourceVersion: got.GetResourceVersion(),
	})
	if err != nil {
		return fmt.Errorf("watch customresourcedefinition %s: %w", got.GetName(), err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if o, ok := e.Object.(*unstructured.Unstructured); ok && e.Type != watch.Deleted && isEstablished(o) {
			return nil
		}
	}
	return remedy.For(fmt.Errorf("customresourcedefinition %s is applied, but the API server does not serve it yet", got.GetName()),
		remedy.Run("see why", remedy.Kubectl("", "describe", "crd", got.GetName())))
}

func isEstablished(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		if m["type"] == "Established" && m["status"] == "True" {
			return true
		}
	}
	return false
}

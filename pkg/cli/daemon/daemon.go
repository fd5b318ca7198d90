// Package daemon is the verb that prints the manifest of a daemon, which runs "sync --watch" in a
// Kubernetes cluster.
package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/ownpod"
)

// manifest is the only argument of the verb.
const manifest = "manifest"

// options are the verb's flags.
type options struct {
	everywhere     bool
	selector       string
	name           string
	image          string
	replicas       int32
	shards         int32
	serviceMonitor bool
	restricted     bool
	metricsFrom    []string
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(func(_ context.Context, o options) error { return run(f, o) })
}

func command(run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "daemon manifest",
		Short: "Print what keeps clusters converged from within Kubernetes",
		Long: `Print a manifest with which "kubectl tidb sync --watch" runs as a Deployment in the
namespace of -n: its service account with the rights that it needs and no more, two
replicas that share the clusters and take over from each other, a
PodDisruptionBudget, a Service for its metrics, and a NetworkPolicy by which only
pods of its namespace, and of those of --metrics-from, can read them.

It looks after the clusters of that namespace, and with --all-namespaces after all
there are. In one namespace it has no rights outside of it, so that nothing is done
about volumes and nodes: reclaim policies stay, and stores get no labels of their
nodes. The definition of TidbClusters is not part of it: see "kubectl tidb init".`,
		Example: `  # All clusters, from the namespace tidb-admin
  kubectl create namespace tidb-admin
  kubectl tidb daemon manifest -n tidb-admin -A | kubectl apply -f -

  # Those of one namespace, with an image of your own registry
  kubectl tidb daemon manifest -n prod --image registry.example/kubectl-tidb:v1.2.3

  # For Prometheus Operator in the namespace monitoring
  kubectl tidb daemon manifest -A --service-monitor --metrics-from monitoring

  # For clusters of users who do not trust each other
  kubectl tidb daemon manifest -n tidb-admin -A --restricted | kubectl apply -f -`,
		SuggestFor: []string{"operator", "controller", "deploy"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != manifest {
				return errors.New("there is one thing to do with it: manifest")
			}
			return nil
		},
		ValidArgs: []string{manifest},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.everywhere, "all-namespaces", "A", false, "Look after the clusters of all namespaces. -n is then only where it runs.")
	flags.StringVarP(&o.selector, "selector", "l", "", "Only the clusters with these labels, e.g. tier=prod. Give each of several daemons its own --name.")
	flags.StringVar(&o.name, "name", "kubectl-tidb", "Name of all objects.")
	flags.StringVar(&o.image, "image", "", "Image to run. The default is that of the release that this plugin is.")
	flags.Int32Var(&o.replicas, "replicas", 2, "Number of pods. They share the clusters, and take over from each other.")
	flags.Int32Var(&o.shards, "shards", 1, "Number of parts of the clusters. Each has a Deployment of its own, whose pods keep in memory only that part.")
	flags.BoolVar(&o.serviceMonitor, "service-monitor", false, "Add a ServiceMonitor, which needs the definitions of Prometheus Operator.")
	flags.BoolVar(&o.restricted, "restricted", false, "Have the daemon refuse clusters whose pods are privileged, use the host, or have a service account of their own.")
	flags.StringSliceVar(&o.metricsFrom, "metrics-from", nil, "Namespaces whose pods may read the metrics, besides that of the daemon, e.g. monitoring.")
	return cmd
}

// mostShards is how many shards fit into the names of pods.
const mostShards = 100

// validate checks what is known from the flags alone.
func (o *options) validate() error {
	if o.replicas < 1 {
		return exit.Usagef("--replicas is %d, and has to be at least 1", o.replicas)
	}
	if o.shards < 1 || o.shards > mostShards {
		return exit.Usagef("--shards is %d, and has to be between 1 and %d", o.shards, mostShards)
	}
	// The longest name that begins with it is that of a pod, which is also the value of a label.
	if wrong := validation.IsDNS1035Label(o.name); len(wrong) > 0 || len(o.name) > 40 {
		return exit.Usagef("--name %q is no name for objects: lower-case letters, digits and -, a letter first, at most 40 characters", o.name)
	}
	if err := ownpod.CheckImage("--image", o.image); err != nil {
		return err
	}
	if _, err := labels.Parse(o.selector); err != nil {
		return exit.Usagef("--selector: %w", err)
	}
	for _, from := range o.metricsFrom {
		if len(validation.IsDNS1123Label(from)) > 0 {
			return exit.Usagef("--metrics-from: %q is no name of a namespace, such as monitoring", from)
		}
	}
	return nil
}

func run(f *factory.Factory, o options) error {
	namespace, err := f.Namespace()
	if err != nil {
		return err
	}
	if o.image, err = ownpod.Image("--image", o.image, f.Version); err != nil {
		return err
	}
	text, err := output.Document(o.objects(namespace))
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(f.Streams.Out, text)
	return err
}

// Package logs is the verb that prints the logs of members.
package logs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	kubectl "k8s.io/kubectl/pkg/cmd/logs"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// options are the verb's flags and its arguments. The flags are those of "kubectl logs", and mean
// the same.
type options struct {
	*kubectl.LogsOptions
	name      []string // the argument that names the cluster
	only      []string // components and members; none for all
	raw       bool
	prefixSet bool
	tailSet   bool
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	o := options{LogsOptions: kubectl.NewLogsOptions(f.Streams)}
	cmd := &cobra.Command{
		Use:   "logs NAME [COMPONENT|MEMBER...]",
		Short: "Print the logs of members",
		Long: `Print the logs of members, of all or of those that are named: by a component such as tikv,
or by a pod such as basic-tikv-0 or tikv-0. Without -c it is the container of the
component itself; TiDB writes slow queries in the container slowlog.

Where there are several members, each line names its member, and without --tail and
--since only the last 10 lines of each are printed. With -f the log of a container that
was restarted goes on, also in another pod of the same name.

Characters that would control a terminal are replaced, and so are commands to a CI system
where CI is set. What is written to a file or a pipe stays as it is, and so does everything
with --raw.`,
		Example: `  kubectl tidb logs basic tikv --since 10m

  # PD and one store, from now on
  kubectl tidb logs basic pd tikv-2 -f --tail 0

  # Why did it crash?
  kubectl tidb logs basic tidb-0 --previous

  # Slow queries of all servers
  kubectl tidb logs basic tidb -c slowlog -f`,
		SuggestFor:        []string{"log", "tail"},
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: target.CompleteMembers(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name, o.only = args[:1], args[1:]
			o.prefixSet, o.tailSet = cmd.Flags().Changed("prefix"), cmd.Flags().Changed("tail")
			if err := o.validate(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.bind(cmd, f)
	return cmd
}

// most is how many containers are followed at the same time, each of which is a connection.
const most = 50

func (o *options) bind(cmd *cobra.Command, f *factory.Factory) {
	flags := cmd.Flags()
	flags.BoolVarP(&o.Follow, "follow", "f", false, "Go on with new lines, until interrupted.")
	flags.BoolVarP(&o.Previous, "previous", "p", false, "The log of the container before its last restart.")
	flags.StringVarP(&o.Container, "container", "c", "", "The container, e.g. slowlog; the component's own without it.")
	flags.BoolVar(&o.AllContainers, "all-containers", false, "All containers of the members.")
	flags.DurationVar(&o.SinceSeconds, "since", 0, "Only lines that are not older, e.g. 10m.")
	flags.StringVar(&o.SinceTime, "since-time", "", "Only lines since this time, e.g. 2026-03-01T12:00:00Z.")
	flags.Int64Var(&o.Tail, "tail", -1, "Only so many of the last lines; -1 for all.")
	flags.Int64Var(&o.LimitBytes, "limit-bytes", 0, "At most so many bytes of each log; zero for all.")
	flags.BoolVar(&o.raw, "raw", false, "Print the bytes as they are, also to a terminal and in a CI system.")
	flags.BoolVar(&o.Timestamps, "timestamps", false, "Begin each line with its time.")
	flags.BoolVar(&o.Prefix, "prefix", false, "Begin each line with its pod and container, which is so where there are several.")
	flags.IntVar(&o.MaxFollowConcurrency, "max-log-requests", most, "With -f, how many containers may be followed at the same time.")
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("container", target.CompleteContainers(f))
}

func (o *options) validate() error {
	for _, arg := range o.only {
		if _, _, ok := (topology.Cluster{Name: o.name[0]}).Named(arg); !ok {
			return exit.Usagef("%q is neither a component nor a member of a cluster %s, such as tikv or %[2]s-tikv-0", arg, o.name[0])
		}
	}
	switch {
	case o.Follow && o.Previous:
		return exit.Usagef("-f does not go with --previous: that container writes no more")
	case o.SinceSeconds < 0:
		return exit.Usagef("--since must not be negative")
	case o.Tail < -1:
		return exit.Usagef("--tail must not be less than -1")
	}
	var err error
	if o.Options, err = o.ToLogOptions(); err == nil {
		err = o.Validate()
	}
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	return nil
}

// run prints the logs of the chosen containers.
func run(ctx context.Context, f *factory.Factory, o options) error {
	s, c, err := target.Cluster(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	pods, err := podsOf(ctx, s.Kube, c)
	if err != nil {
		return err
	}
	chosen, err := choose(c, pods, o.only)
	if err != nil {
		return err
	}
	sources, err := o.sources(chosen)
	if err != nil {
		return err
	}
	if o.raw || !report.Terminal(o.Out) && !report.InCI(f.Env) {
		o.Out = harmless.Raw(o.Out)
	}
	p := &printer{options: o, pods: s.Kube.CoreV1().Pods(s.Namespace), several: len(sources) > 1, now: f.Clock.Now}
	return p.print(ctx, sources)
}

// podsOf returns the pods of a cluster.
func podsOf(ctx context.Context, kube kubernetes.Interface, c topology.Cluster) ([]corev1.Pod, error) {
	list, err := kube.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(c.Selector()).String()})
	if err != nil {
		return nil, fmt.Errorf("list pods in namespace %s: %w", c.Namespace, err)
	}
	return list.Items, nil
}

// member is a member of which logs are printed.
type member struct {
	kind    topology.Kind
	ordinal int
	pod     corev1.Pod
}

// choose returns the members that arguments name, in the order of components and ordinals.
func choose(c topology.Cluster, pods []corev1.Pod, only []string) ([]member, error) {
	var all []member
	for _, p := range pods {
		if k, n, ok := c.Member(p.Name); ok {
			all = append(all, member{k, n, p})
		}
	}
	kinds := topology.Kinds()
	slices.SortFunc(all, func(a, b member) int {
		if a.kind != b.kind {
			return slices.Index(kinds, a.kind) - slices.Index(kinds, b.kind)
		}
		return a.ordinal - b.ordinal
	})
	if len(all) == 0 {
		return nil, exit.Refusef("cluster %s/%s has no pods, so there are no logs", c.Namespace, c.Name)
	}
	wanted := map[string]bool{}
	for _, arg := range only {
		found := false
		kind, ordinal, _ := c.Named(arg)
		for _, m := range all {
			if m.kind == kind && (ordinal == topology.Every || ordinal == m.ordinal) {
				wanted[m.pod.Name], found = true, true
			}
		}
		if !found {
			return nil, unknownMember(c, arg, all)
		}
	}
	return slices.DeleteFunc(all, func(m member) bool { return len(only) > 0 && !wanted[m.pod.Name] }), nil
}

func unknownMember(c topology.Cluster, arg string, all []member) error {
	if k, ok := topology.ParseKind(arg); ok {
		return c.WithPDPart(k, exit.Refusef("cluster %s/%s has no pods of %s, so there are no logs", c.Namespace, c.Name, arg),
			func(c topology.Cluster) remedy.Command { return c.Plugin("logs", arg) })
	}
	var names []string
	for _, m := range all {
		names = append(names, m.pod.Name)
	}
	return exit.Usagef("cluster %s/%s has no component and no member %q; its members are %s", c.Namespace, c.Name, arg, strings.Join(names, ", "))
}

// shortTail is how many lines of each log are printed where there are several. kubectl does the same where a
// selector finds the pods.
const shortTail = 10

// settings returns what is asked of the log of a container.
func (o options) settings(container string, several bool) *corev1.PodLogOptions {
	s := o.Options.(*corev1.PodLogOptions).DeepCopy()
	s.Container = container
	if several && !o.tailSet && s.SinceSeconds == nil && s.SinceTime == nil {
		lines := int64(shortTail)
		s.TailLines = &lines
	}
	return s
}

// again is the pause before a log is followed that has ended, since its container was restarted.
const again = time.Second

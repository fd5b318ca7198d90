// Package events is the verb that prints the events of Kubernetes about a cluster.
package events

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/printers"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	kubectl "k8s.io/kubectl/pkg/cmd/events"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
)

// options are the verb's flags and its arguments.
type options struct {
	name    []string // the argument that names the cluster
	watch   bool
	members []string // components and members; none for all objects of the cluster
	output  output.Objects
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "events [NAME]",
		Short: "Print the events of Kubernetes about a cluster",
		Long: `Print the events of Kubernetes about a cluster: its TidbCluster, StatefulSets, pods and
claims, the newest last. An event that was reported more than once is printed once, as it
was reported last. Kubernetes keeps events for one hour, unless its API server is told to
keep them for longer.

With -o json they are a list of EventSummary; with -w as well one EventSummary after
another.`,
		Example: `  kubectl tidb events basic

  # Of one store and its claims, and from now on
  kubectl tidb events basic --member tikv-0 -w

  # Of all members of PD
  kubectl tidb events basic --member pd

  # Warnings only, for a program
  kubectl tidb events basic -o json | jq '.items[] | select(.type=="Warning")'`,
		SuggestFor:        []string{"event", "history"},
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.output.Validate(); err != nil {
				return err
			}
			o.name = args
			return run(cmd.Context(), o)
		},
	}
	o.output.Bind(cmd)
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "Go on with new events, until interrupted.")
	cmd.Flags().StringSliceVar(&o.members, "member", nil, "Only of this member, e.g. tikv-0 or basic-tikv-0, or of all members of a component, e.g. tikv. Can be given more than once.")
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("member", target.CompleteMemberFlag(f))
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	s, c, err := target.Cluster(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	p := &printer{
		Factory: f, options: o, cluster: c, events: s.Kube.CoreV1().Events(s.Namespace),
		rows: kubectl.NewEventPrinter(false, false), seen: map[string]string{},
	}
	for _, m := range o.members {
		if _, _, ok := p.cluster.Named(m); !ok {
			return exit.Usagef("%q is neither a component nor a member of a cluster %s, such as tikv or %[2]s-tikv-0", m, s.Name)
		}
	}
	return p.print(ctx)
}

// printer prints the events of one cluster.
type printer struct {
	*factory.Factory
	options
	cluster topology.Cluster
	events  corev1client.EventInterface
	rows    *kubectl.EventPrinter
	seen    map[string]string // what was printed: versions by what an event says
}

// page is how many events are read at a time.
const page = 500

// again is the pause before events are read again after a watch has ended.
const again = time.Second

// print prints the events that there are, and with -w also the events that come. A watch ends from time to
// time; the events are read again then, and only new ones are printed.
func (p *printer) print(ctx context.Context) error {
	for {
		found, version, err := p.list(ctx)
		if err != nil {
			return err
		}
		if err := p.show(found); err != nil {
			return err
		}
		if !p.watch {
			if len(p.seen) == 0 && p.output.Table() {
				fmt.Fprintf(p.Streams.ErrOut, "No events found for cluster %s/%s.\n", p.cluster.Namespace, p.cluster.Name)
			}
			return nil
		}
		w, err := p.events.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err == nil {
			err = p.follow(ctx, w)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("watch events in namespace %s: %w", p.cluster.Namespace, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(again):
		}
	}
}

// list returns the events of the cluster, the newest last, and the version up to which they are.
func (p *printer) list(ctx context.Context) (found []corev1.Event, version string, err error) {
	for next := ""; ; {
		list, err := p.events.List(ctx, metav1.ListOptions{Limit: page, Continue: next})
		if err != nil {
			return nil, "", fmt.Errorf("list events in namespace %s: %w", p.cluster.Namespace, err)
		}
		for _, e := range list.Items {
			if p.concerns(e.InvolvedObject) {
				found = append(found, e)
			}
		}
		version = list.ResourceVersion
		if next = list.Continue; next == "" {
			break
		}
	}
	slices.SortStableFunc(found, func(a, b corev1.Event) int { return lastReported(a).Compare(lastReported(b)) })
	return latest(found), version, nil
}

// latest leaves out events that say the same as a later one.
func latest(all []corev1.Event) []corev1.Event {
	said := map[string]bool{}
	var kept []corev1.Event
	for _, e := range slices.Backward(all) {
		if !said[says(e)] {
			said[says(e)] = true
			kept = append(kept, e)
		}
	}
	slices.Reverse(kept)
	return kept
}

// says returns what an event says, without when.
func says(e corev1.Event) string {
	return strings.Join([]string{e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Type, e.Reason, strings.TrimSpace(e.Message)}, "\n")
}

// lastReported returns when an event was reported last.
func lastReported(e corev1.Event) time.Time {
	at := e.LastTimestamp.Time
	for _, t := range []time.Time{e.EventTime.Time, e.FirstTimestamp.Time, e.CreationTimestamp.Time} {
		if at.IsZero() {
			at = t
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	return at
}

// concerns reports whether an object belongs to the cluster, and to the members that are asked for.
func (p *printer) concerns(o corev1.ObjectReference) bool {
	var k topology.Kind
	n, ok := topology.Every, false
	switch o.Kind {
	case "TidbCluster":
		return o.Name == p.cluster.Name && len(p.members) == 0
	case "StatefulSet":
		for _, known := range topology.Kinds() {
			if o.Name == p.cluster.SetName(known) {
				k, ok = known, true
			}
		}
	case "Pod":
		k, n, ok = p.cluster.Member(o.Name)
	case "PersistentVolumeClaim":
		k, n, ok = p.claimed(o.Name)
	}
	if !ok || len(p.members) == 0 {
		return ok
	}
	return slices.ContainsFunc(p.members, func(m string) bool {
		kind, ordinal, named := p.cluster.Named(m)
		return named && kind == k && (ordinal == topology.Every || ordinal == n)
	})
}

// claimed returns the member whose claim has a name.
func (p *printer) claimed(claim string) (topology.Kind, int, bool) {
	for _, k := range topology.Kinds() {
		if _, n, ok := p.cluster.ClaimOrdinal(k, claim); ok {
			return k, n, true
		}
	}
	return "", 0, false
}

// follow prints events until the watch ends.
func (p *printer) follow(ctx context.Context, w watch.Interface) error {
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case got, open := <-w.ResultChan():
			e, is := got.Object.(*corev1.Event)
			switch {
			case !open, got.Type == watch.Error: // it is too old, for example
				return nil
			case !is || got.Type == watch.Deleted || got.Type == watch.Bookmark || !p.concerns(e.InvolvedObject):
				continue
			}
			if err := p.show([]corev1.Event{*e}); err != nil {
				return err
			}
		}
	}
}

// show prints events that were not printed yet as they are now.
func (p *printer) show(all []corev1.Event) error {
	list := &corev1.EventList{}
	for _, e := range all {
		if version := string(e.UID) + e.ResourceVersion; p.seen[says(e)] != version {
			p.seen[says(e)] = version
			list.Items = append(list.Items, e)
		}
	}
	if !p.output.Table() {
		return p.write(list.Items)
	}
	if len(list.Items) == 0 {
		return nil
	}
	for i := range list.Items {
		e := &list.Items[i]
		for _, text := range []*string{&e.Type, &e.Reason, &e.Message, &e.InvolvedObject.Kind, &e.InvolvedObject.Name} {
			*text = harmless.Line(strings.TrimSpace(*text)) // a line break would be another event
		}
	}
	w := printers.GetNewTabWriter(p.Streams.Out)
	if err := p.rows.PrintObj(list, w); err != nil {
		return err
	}
	return w.Flush()
}

package pvc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/claim"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// listOptions are the flags of list and its argument.
type listOptions struct {
	target.Found
	name   []string
	output output.Objects
}

func newList(f *factory.Factory) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list [NAME]",
		Short: "Show claims by member, and what keeps each",
		Long: `Show the claims of a cluster by member: its size, the pod that uses it, or what keeps
it without one. A claim that is Left or Gone is kept by nothing; one that is InPD has a
member that is not wanted, but that PD still has.

Without NAME it shows those of all clusters of the namespace, and with -A of all
namespaces, also of clusters that are gone.`,
		Example: `  kubectl tidb pvc list basic

  # What clusters that are gone have left
  kubectl tidb pvc list -A -o json | jq -r '.items[] | select(.state=="Gone") | .claim'`,
		SuggestFor:        []string{"get", "ls"},
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args
			err := errors.Join(o.Validate(), o.output.Validate())
			if err == nil && len(args) > 0 && (o.AllNamespaces || o.Selector != "") {
				err = exit.Usagef("a name does not go with -l or -A: leave out either %s or the flags", args[0])
			}
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), f)
		},
	}
	o.Bind(cmd, "Show the claims of")
	o.output.Bind(cmd)
	return cmd
}

func (o *listOptions) run(ctx context.Context, f *factory.Factory) error {
	shown := spin.On(f, "reading claims")
	all, err := o.read(ctx, f)
	shown.Stop()
	if err != nil && len(all) == 0 {
		return err
	}
	if failed := o.show(f.Streams.Out, f.Streams.ErrOut, all); failed != nil {
		return failed
	}
	return err
}

func (o *listOptions) read(ctx context.Context, f *factory.Factory) ([]claim.Claim, error) {
	if len(o.name) == 0 {
		return ofAll(ctx, f, o.Found)
	}
	s, err := target.Open(ctx, f, o.name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	all, _, err := ofCluster(ctx, f, s, false)
	return all, err
}

func (o *listOptions) show(out, errOut io.Writer, all []claim.Claim) error {
	switch {
	case !o.output.Table():
		return o.print(out, all)
	case len(all) == 0:
		fmt.Fprintln(errOut, "No claims found.")
		return nil
	}
	return o.table(out, all)
}

func (o *listOptions) table(out io.Writer, all []claim.Claim) error {
	headers := []string{"claim", "member", "state", "asked", "actual", "pod", "why"}
	if o.output.Wide() {
		headers = append(headers, "class", "volume", "phase")
	}
	if len(o.name) == 0 {
		headers = append([]string{"cluster"}, headers...)
	}
	if o.AllNamespaces {
		headers = append([]string{"namespace"}, headers...)
	}
	var rows [][]string
	for _, c := range all {
		row := []string{c.Name, c.Member, string(c.State), c.Requested.String(), c.Capacity.String(), dash(c.Pod), dash(c.Why)}
		if o.output.Wide() {
			row = append(row, dash(c.Class), dash(c.Volume), dash(c.Phase))
		}
		if len(o.name) == 0 {
			row = append([]string{c.Cluster}, row...)
		}
		if o.AllNamespaces {
			row = append([]string{c.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	return report.Table(out, headers, rows)
}

func dash(s string) string { return cmp.Or(s, "-") }

// view is the JSON form of one claim.
type view struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	Claim     string `json:"claim"`
	Component string `json:"component"`
	Member    string `json:"member"`
	State     string `json:"state"`
	Why       string `json:"why,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Requested string `json:"requested"`
	Capacity  string `json:"capacity"`
	Class     string `json:"storageClass,omitempty"`
	Volume    string `json:"volume,omitempty"`
	Phase     string `json:"phase,omitempty"`
	Marked    string `json:"marked,omitempty"`
}

func (o *listOptions) print(out io.Writer, all []claim.Claim) error {
	items := []unstructured.Unstructured{}
	for _, c := range all {
		object, err := output.Object("ClaimSummary", c.Namespace, c.Cluster, view{
			Namespace: c.Namespace, Cluster: c.Cluster, Claim: c.Name, Component: string(c.Component), Member: c.Member, State: string(c.State),
			Why: c.Why, Pod: c.Pod, Requested: c.Requested.String(), Capacity: c.Capacity.String(), Class: c.Class, Volume: c.Volume,
			Phase: c.Phase, Marked: c.Marked,
		})
		if err != nil {
			return err
		}
		items = append(items, *object)
	}
	return o.output.Print(out, output.List("ClaimSummary", items))
}

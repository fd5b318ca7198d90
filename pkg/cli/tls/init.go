package tls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

// initOptions are the flags and the argument of "tls init".
type initOptions struct {
	name         []string
	issuer       string
	domain       string
	partOf       string
	partOfDomain string
	life         time.Duration
	timeout      time.Duration
}

const (
	ownIssuer   = "self"
	certManager = "cert-manager/"
)

func newInit(f *factory.Factory) *cobra.Command {
	return initCommand(f, func(ctx context.Context, o initOptions) error { return runInit(ctx, f, o) })
}

func initCommand(f *factory.Factory, run func(context.Context, initOptions) error) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init NAME",
		Short: "Make the certificates that a cluster needs",
		Long: `Make the Secrets with certificates for members, for clients of members, for TiDB towards
SQL clients, and for SQL clients, for all components that a cluster can have. Secrets that
exist stay. The cluster need not exist yet.

With --issuer=self an authority is made for members and another one for SQL, in the Secrets
NAME-cluster-ca-secret and NAME-tidb-ca-secret: who may read these can issue certificates.
With --issuer=cert-manager/ISSUER it makes Certificates, for which cert-manager's Issuer of
that name in the namespace makes the Secrets, and renews them.

The certificates for members of a part are issued by the authority of the TidbCluster whose
PD the part uses. If that is in another Kubernetes cluster, copy the Secret with its authority
to NAME-cluster-ca-secret before.`,
		Example: `  kubectl tidb tls init basic
  kubectl tidb create basic --version v8.1.0 --tls

  # For a part that uses the PD of cluster shop in namespace prod
  kubectl tidb tls init reports --part-of prod/shop

  # For a part that uses the PD of cluster shop in another Kubernetes cluster
  kubectl tidb tls init shop --part-of prod/shop --part-of-domain eu.example \
    --cluster-domain us.example

  # By cert-manager
  kubectl tidb tls init basic --issuer cert-manager/my-issuer`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args
			switch name, asked := strings.CutPrefix(o.issuer, certManager); {
			case o.issuer != ownIssuer && (!asked || name == ""):
				return exit.Usagef("--issuer: %q is neither self nor cert-manager/NAME", o.issuer)
			case o.partOfDomain != "" && o.partOf == "":
				return exit.Usagef("--part-of-domain is that of the TidbCluster which --part-of names: give both")
			case o.life < time.Hour:
				return exit.Usagef("--valid-for: %s is less than an hour", o.life)
			}
			return run(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.issuer, "issuer", ownIssuer, "Who issues the certificates: self, or cert-manager/NAME with the name of an Issuer.")
	flags.StringVar(&o.domain, "cluster-domain", "", "Cluster domain (spec.clusterDomain) of a cluster that does not exist yet.")
	flags.StringVar(&o.partOf, "part-of", "", "TidbCluster whose PD the cluster uses (spec.cluster), as NAME or NAMESPACE/NAME. It is needed where the cluster does not exist yet, or that TidbCluster does not let parts of the namespace in.")
	flags.StringVar(&o.partOfDomain, "part-of-domain", "", "Cluster domain of the TidbCluster that --part-of names, where it is in another Kubernetes cluster.")
	flags.DurationVar(&o.life, "valid-for", issue.Life, "How long the certificates are valid.")
	flags.DurationVar(&o.timeout, "timeout", 2*time.Minute, "How long to wait for cert-manager.")
	_ = cmd.RegisterFlagCompletionFunc("issuer", cobra.FixedCompletions([]string{ownIssuer, certManager}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	return cmd
}

func runInit(ctx context.Context, f *factory.Factory, o initOptions) error {
	s, err := target.Open(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	c, exists, err := cluster(ctx, s, o.domain, o.joins())
	if err != nil {
		return err
	}
	if asked := o.joins(); asked != nil && exists && (c.Joined.Name != asked.Name || c.Joined.Namespace != cmp.Or(asked.Namespace, c.Namespace) || o.partOfDomain != "" && c.Joined.Domain != o.partOfDomain) {
		return exit.Refusef("--part-of %s: cluster %s/%s exists, and its spec.cluster does not name that one; nothing was changed", o.partOf, c.Namespace, c.Name)
	}
	if exists && !c.TLS.Members && !c.TLS.SQL {
		c.TLS.SQL = true // which can be turned on later; TLS between members cannot
	}
	if name, asked := strings.CutPrefix(o.issuer, certManager); asked {
		return byCertManager(ctx, f, c, name, o)
	}
	self, err := issuer(ctx, f, s, c, o.life, o.partOf != "")
	if err != nil {
		return err
	}
	made, err := self.Missing(ctx)
	list(f, made, "made")
	if err == nil && len(made) == 0 {
		fmt.Fprintf(f.Streams.ErrOut, "All Secrets of cluster %s/%s exist.\n", c.Namespace, c.Name)
	}
	return refusal(c, err)
}

// joins returns the part with PD that is asked for, nil if there is none.
func (o initOptions) joins() *v1alpha1.TidbClusterRef {
	if o.partOf == "" {
		return nil
	}
	namespace, name, both := strings.Cut(o.partOf, "/")
	if !both {
		namespace, name = "", namespace
	}
	return &v1alpha1.TidbClusterRef{Namespace: namespace, Name: name, ClusterDomain: cmp.Or(o.partOfDomain, o.domain)}
}

// refusal makes an error about the certificates or the authority of others one of a refusal.
func refusal(c topology.Cluster, err error) error {
	e, ok := errors.AsType[*issue.NoAuthorityError](err)
	switch {
	case ok && e.Part == topology.Joined{}:
		return remedy.For(exit.Refusef("%w", e),
			remedy.Say(fmt.Sprintf("copy the data of the secret with the authority there into secret %s/%s", c.Namespace, c.AuthoritySecret(topology.MembersCircle))),
			remedy.Say("or have the certificates issued by that authority"))
	case ok && e.Across:
		return remedy.For(exit.Refusef("%w", e),
			remedy.Say(fmt.Sprintf("copy the data of secret %s/%s of that Kubernetes cluster into it", e.Part.Namespace, c.JoinedPart().AuthoritySecret(topology.MembersCircle))),
			remedy.Say("or have the certificates issued by the authority of PD"))
	case ok:
		return remedy.For(exit.Refusef("%w", e),
			remedy.Run("if PD has no certificates yet, make these first", remedy.Plugin(e.Part.Namespace, "tls", "init", e.Part.Name)),
			remedy.Say("or have the certificates issued by the authority of PD"))
	}
	if e, ok := errors.AsType[*issue.ForeignError](err); ok {
		return remedy.For(exit.Refusef("%w; nothing was changed", e),
			remedy.Say("have it issued by that authority"),
			remedy.Run("or delete those of the others, if nothing uses them, and have all made", c.Kubectl("delete", "secret", e.Foreign)))
	}
	return err
}

func byCertManager(ctx context.Context, f *factory.Factory, c topology.Cluster, name string, o initOptions) error {
	dyn, err := f.Dynamic()
	if err != nil {
		return err
	}
	return issued(ctx, f, c, issue.NewCertManager(dyn, c, name, o.life), o.timeout)
}

// issued asks cert-manager for what is missing, and waits until it has issued all.
func issued(ctx context.Context, f *factory.Factory, c topology.Cluster, m *issue.CertManager, timeout time.Duration) error {
	made, err := m.Missing(ctx)
	if none, ok := errors.AsType[*issue.NoCertManagerError](err); ok {
		return remedy.For(exit.Refusef("%w; nothing was changed", none), remedy.Say("install cert-manager, or leave --issuer out"))
	}
	list(f, made, "asked for")
	if err != nil {
		return err
	}
	pending, err := m.Pending(ctx)
	if err != nil {
		return err
	}
	if len(made) == 0 {
		says := "and are issued"
		if len(pending) > 0 {
			says = fmt.Sprintf("and cert-manager has not issued %d of them yet", len(pending))
		}
		fmt.Fprintf(f.Streams.ErrOut, "All Certificates of cluster %s/%s exist, %s.\n", c.Namespace, c.Name, says)
	}
	if len(pending) == 0 {
		return nil
	}
	within, cancel := exit.Within(ctx, timeout)
	defer cancel()
	// A reading is not bounded by the timeout: one that begins just before it would fail, and nobody would be told what is
	// waited for.
	err = wait.PollUntilContextCancel(within, time.Second, false, func(context.Context) (bool, error) {
		var err error
		pending, err = m.Pending(ctx)
		return len(pending) == 0, err
	})
	if ctx.Err() == nil && len(pending) > 0 {
		first := slices.Min(slices.Collect(maps.Keys(pending)))
		return remedy.For(exit.With(exit.TimedOut, fmt.Errorf("cert-manager has not issued %s within %s; %s: %s",
			remedy.Count(len(pending), "certificate", "certificates"), timeout, first, pending[first])),
			remedy.Run("see why", c.Kubectl("get", "issuers,certificates,certificaterequests", "-o", "wide")))
	}
	return err
}

func list(f *factory.Factory, names []string, done string) {
	for _, name := range names {
		fmt.Fprintf(f.Streams.Out, "secret/%s %s\n", name, done)
	}
}

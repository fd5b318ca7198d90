package tls

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

// issuer returns what issues the certificates of a cluster. Members of a part show certificates that PD of the other part
// accepts. named says that the user has named the part with PD.
//
// The authority of another namespace is used only if the TidbCluster there lets parts of this namespace in, or the user has
// named it. Otherwise a person who may write the spec of the part would get certificates for another database. The user
// who makes them has rights in both namespaces, and that person has not.
func issuer(ctx context.Context, f *factory.Factory, s *target.Session, c topology.Cluster, life time.Duration, named bool) (*issue.Self, error) {
	self := issue.NewSelf(s.Kube, c, f.Clock.Now(), life)
	if !c.JoinsHere() {
		return self, nil
	}
	tc, err := s.Intent.LoadOther(ctx, c.Joined.Namespace, c.Joined.Name)
	switch {
	case intent.Gone(err) && named:
		return self, nil // it can be made later, as the part itself
	case err != nil:
		return nil, fmt.Errorf("see whether %s lets parts of namespace %s use its PD: %w", c.Joined, c.Namespace, err)
	case !named && !topology.AllowsParts(tc, c.Namespace):
		return nil, remedy.For(exit.Refusef("TidbCluster %s does not let parts of namespace %s use its PD, so its authority issues no certificates for %s; nothing was changed", c.Joined, c.Namespace, c.Name),
			remedy.Run("let these parts use it", topology.ToAllowParts(tc, c.Namespace)))
	}
	self.Named(topology.CertificateName(topology.New(tc)))
	return self, nil
}

// oneAuthority refuses to replace authorities where the members of several parts trust the same one. A part whose
// certificates were replaced first would not be let in by the members of the other parts.
func oneAuthority(ctx context.Context, s *target.Session, c topology.Cluster) error {
	refuse := func(format string, args ...any) error {
		return exit.Refusef("%s: authorities of several parts are not replaced; nothing was changed", fmt.Sprintf(format, args...))
	}
	if c.IsPart() {
		return refuse("cluster %s/%s is a part, and its authority is that of %s", c.Namespace, c.Name, c.Joined)
	}
	parts, err := s.Intent.Parts(ctx, c)
	switch {
	case err != nil:
		return err
	case len(parts.Known) > 0:
		return refuse("cluster %s/%s is a part of the same database", parts.Known[0].Namespace, parts.Known[0].Name)
	case c.Founds() && !parts.MayBeMore():
		return nil
	}
	seen, err := s.Observer.Against(ctx, c)
	if err != nil {
		return err
	}
	switch pd := seen.Snapshot.PD; {
	case !pd.Known():
		return refuse("it is not known whether there are other parts of the same database: %s", pd.Problem)
	case pd.Shared:
		return refuse("PD lists members of other clusters, which may be parts in other namespaces or Kubernetes clusters")
	}
	return nil
}

package check

import (
	"context"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// compareParts returns what keeps a request from the other parts of the database.
func (p proposal) compareParts(ctx context.Context, s *target.Session) (field.ErrorList, remedy.Remedy, []Warning, error) {
	if p.wanted.IsPart() {
		return p.joined(ctx, s)
	}
	return p.otherParts(ctx, s)
}

// joined returns what keeps a part from the PD of the TidbCluster that it joins. A TidbCluster that may not be read is
// only a warning.
func (p proposal) joined(ctx context.Context, s *target.Session) (errs field.ErrorList, help remedy.Remedy, notes []Warning, err error) {
	c := p.wanted
	at := field.NewPath("spec", "cluster")
	tc, err := p.loadJoined(ctx, s)
	if c.JoinsAcross() && tc == nil {
		return nil, nil, []Warning{warn("%s: TidbCluster %s is in another Kubernetes cluster, so nothing of this part was compared with it", at, c.Joined)}, nil
	}
	switch {
	case intent.Gone(err):
		return field.ErrorList{&field.Error{
			Type: field.ErrorTypeNotFound, Field: at.String(), BadValue: c.Joined.String(), Detail: "the members of this part would wait for its PD; make that TidbCluster first",
		}}, nil, nil, nil
	case denial.Missing(err):
		return nil, nil, []Warning{warn("%s: TidbCluster %s cannot be read, so nothing of this part was compared with it", at, c.Joined)}, nil
	case err != nil:
		return nil, nil, nil, err
	}
	errs, help = joins(c, topology.New(tc), at)
	if p.existing == nil {
		errs = append(errs, named(c, topology.New(tc))...)
	}
	suspended, resume := p.resumes(topology.New(tc))
	if c.UsesOtherPD() && !topology.AllowsParts(tc, c.Namespace) {
		notes = []Warning{{
			Text:   fmt.Sprintf("%s: TidbCluster %s does not let parts of namespace %s use its PD, so that no daemon drives this part", at.Child("namespace"), c.Joined, c.Namespace),
			Remedy: remedy.Remedy{remedy.Run("let these parts use it", topology.ToAllowParts(tc, c.Namespace))},
		}}
	}
	return append(errs, suspended...), append(help, resume...), notes, nil
}

// named refuses a new part whose stores PD could not tell from stores in other Kubernetes clusters. A part there can have
// the same namespace and name, and only a cluster domain distinguishes the addresses. Members that run keep the addresses
// that they have.
func named(c, other topology.Cluster) field.ErrorList {
	if !c.JoinsHere() || !other.SpansK8s() || other.Domain == "" || other.Domain == c.Domain {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "clusterDomain"), c.Domain, fmt.Sprintf(
		"%s may have members in other Kubernetes clusters, where stores can have the names of stores here: set clusterDomain and cluster.clusterDomain to %s",
		c.Joined, other.Domain))}
}

// loadJoined returns the TidbCluster that a part joins. It is nil where that is in another Kubernetes cluster, and the
// command does not change it.
func (p proposal) loadJoined(ctx context.Context, s *target.Session) (*v1alpha1.TidbCluster, error) {
	c := p.wanted
	if !c.JoinsAcross() {
		return p.loadBeside(ctx, s, c.Joined.Namespace, c.Joined.Name)
	}
	for _, tc := range p.Beside {
		if c.JoinsTo(topology.New(tc)) {
			return tc, nil
		}
	}
	return nil, nil
}

// loadBeside returns a TidbCluster beside that of the request: as the same command changes it, or as the API server has it.
func (p proposal) loadBeside(ctx context.Context, s *target.Session, namespace, name string) (*v1alpha1.TidbCluster, error) {
	for _, tc := range p.Beside {
		if tc.Namespace == namespace && tc.Name == name {
			return tc, nil
		}
	}
	return s.Intent.LoadOther(ctx, namespace, name)
}

// joins compares a part with the TidbCluster that it joins.
func joins(c, other topology.Cluster, at *field.Path) (errs field.ErrorList, help remedy.Remedy) {
	refuse := func(at *field.Path, value any, format string, args ...any) {
		errs = append(errs, field.Invalid(at, value, fmt.Sprintf(format, args...)))
	}
	pd, has := other.Group(topology.PD)
	switch {
	case !has && other.IsPart():
		refuse(at, c.Joined.String(), "it has no PD, and uses the PD of %s: name that one", other.Joined)
	case !has:
		refuse(at, c.Joined.String(), "it has no PD")
	}
	if other.TLS.Members != c.TLS.Members {
		refuse(field.NewPath("spec", "tlsCluster", "enabled"), c.TLS.Members,
			"it is %t in %s: members with TLS and members without do not connect to each other", other.TLS.Members, c.Joined)
	}
	for _, g := range c.Groups {
		if newer, err := topology.IsDowngrade(g.Version, pd.Version); has && err == nil && newer && g.Kind.Data() != topology.Raft {
			refuse(topology.FieldOf(c.Source, g.Kind).Child("version"), g.Version, "PD of %s has %s, and PD is upgraded first", c.Joined, pd.Version)
			help = remedy.Remedy{remedy.Run("upgrade the part with PD first", other.Plugin("upgrade", g.Version))}
		}
	}
	return errs, help
}

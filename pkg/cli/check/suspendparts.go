package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// otherParts returns what keeps a request from the parts that use the PD here. PD is suspended after all of them, because
// their members need PD. Where the parts may not be listed, the run waits for them, if there are any.
func (p proposal) otherParts(ctx context.Context, s *target.Session) (errs field.ErrorList, help remedy.Remedy, notes []Warning, err error) {
	if p.existing == nil || !p.wanted.PDSuspended() || p.existing.PDSuspended() {
		return nil, nil, nil, nil
	}
	parts, err := s.Intent.Parts(ctx, p.wanted)
	switch {
	case denial.Missing(err):
		return nil, nil, []Warning{warn("TidbClusters cannot be listed, so it is not known whether others use the PD of this one: PD is suspended when no member of them runs")}, nil
	case err != nil:
		return nil, nil, nil, err
	}
	if parts.MayBeMore() {
		notes = append(notes, warn("there may be more parts in other namespaces or Kubernetes clusters: PD is suspended when PD lists none of their stores and members of PD as up"))
	}
	var names []string
	for _, part := range p.amongBeside(parts.Known) {
		if part.JoinsTo(p.wanted) && runs(part) {
			names = append(names, part.Name)
			help = append(help, remedy.Run(fmt.Sprintf("suspend %s first", part.Name), part.Suspend(), part.Plugin("sync")))
		}
	}
	if len(names) == 0 {
		return nil, nil, notes, nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "suspendAction", "suspendStatefulSet"), fmt.Sprintf(
		"the members of %s use the PD of this TidbCluster and would fail without PD: a whole database is suspended by suspending the other parts first",
		strings.Join(names, ", ")))}, help, nil, nil
}

// amongBeside returns the parts as they are after the command, which may change them as well.
func (p proposal) amongBeside(parts []topology.Cluster) []topology.Cluster {
	for _, tc := range p.Beside {
		c := topology.New(tc)
		same := func(part topology.Cluster) bool { return part.Namespace == c.Namespace && part.Name == c.Name }
		parts = append(slices.DeleteFunc(parts, same), c)
	}
	return parts
}

// runs reports whether a TidbCluster is to have members that run.
func runs(c topology.Cluster) bool {
	return slices.ContainsFunc(c.Groups, func(g topology.Group) bool { return g.Active() > 0 })
}

// resumes refuses to start the members of a part while the PD that they use is suspended.
func (p proposal) resumes(pd topology.Cluster) (errs field.ErrorList, help remedy.Remedy) {
	if !pd.PDSuspended() || !runs(p.wanted) || p.existing != nil && runs(*p.existing) {
		return nil, nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "cluster"), p.wanted.Joined.String(), "its PD is suspended, and the members of this part would wait for PD")},
		remedy.Remedy{remedy.Run("take suspendAction out of the part with PD first", pd.Plugin("edit"))}
}

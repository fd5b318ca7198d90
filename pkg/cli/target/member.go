package target

import (
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// UnknownMember is the error about a member that the cluster does not have. It names members with a similar name.
func UnknownMember(c topology.Cluster, name string) error {
	var members []string
	for _, g := range c.Groups {
		for _, n := range g.Ordinals().All() {
			members = append(members, c.PodName(g.Kind, n))
		}
	}
	hint := ""
	if near := intent.Similar(name, members); len(near) > 0 {
		hint = ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return exit.Usagef("cluster %s/%s has no member %s%s", c.Namespace, c.Name, name, hint)
}

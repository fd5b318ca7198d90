package maintenance

import (
	"context"
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// preview prints what a start would do now, and changes nothing. With a dry run of the server, the API server
// checks what would be written to the Node and to the TidbClusters. PD has no dry run, so it is only read.
func (s *starting) preview(ctx context.Context, h hosts.Host, sights []hosts.Sight) error {
	actions := h.Start(sights, s.by, s.now())
	if s.dryRun == flags.ServerDryRun {
		s.node.dryRun = true
		for _, a := range actions {
			if !written(a) {
				continue
			}
			if err := s.one(ctx, a); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(s.out, "node %s may be taken down; nothing was changed\n", h.Name)
	for _, at := range sights {
		for _, effect := range h.Stops(at) {
			fmt.Fprintf(s.out, "would ask, for %s/%s: %s\n", at.Cluster.Namespace, at.Cluster.Name, effect)
		}
	}
	for _, a := range actions {
		if text := planned(a, sights); text != "" {
			fmt.Fprintf(s.out, "would %s\n", text)
		}
	}
	return nil
}

// written reports whether an action writes to Kubernetes alone.
func written(a hosts.Action) bool {
	switch a.(type) {
	case hosts.Write, hosts.Mark, hosts.Cordon:
		return true
	}
	return false
}

// planned says what an action of a start does.
func planned(a hosts.Action, sights []hosts.Sight) string {
	switch a := a.(type) {
	case hosts.Write:
		return "record the maintenance in the Node"
	case hosts.Mark:
		return fmt.Sprintf("name node %s in TidbCluster %s, so that no driver takes members away elsewhere", a.Maintenance.Node, a.Cluster)
	case hosts.Cordon:
		return "cordon the node"
	case hosts.MoveLeader:
		return fmt.Sprintf("move the leader of PD of %s from %s to %s, and evict region leaders from the stores on the node after that", a.Cluster, a.Step.From, a.Step.To)
	case hosts.Evict:
		return fmt.Sprintf("evict region leaders from %s of %s", storeName(a, sights), a.Cluster)
	}
	return ""
}

// storeName returns the name of the member that a store is, or the id of the store.
func storeName(a hosts.Evict, sights []hosts.Sight) string {
	for _, at := range sights {
		if at.Cluster.Namespace != a.Cluster.Namespace || at.Cluster.Name != a.Cluster.Name {
			continue
		}
		for _, g := range at.Snapshot.Groups {
			for _, m := range g.Members {
				if m.Kind.Data() == topology.Store && m.Database.ID == a.Store {
					return m.Name
				}
			}
		}
	}
	return fmt.Sprintf("store %d", a.Store)
}

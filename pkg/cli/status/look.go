package status

import (
	"context"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Seen is what status knows of a cluster.
type Seen struct {
	Wanted   desired.State
	Snapshot state.Snapshot
	Plan     plan.Plan
	Driver   lease.Holder
	// Operator: the driver is a tidb-operator, which is alive.
	Operator bool
	// LogBackupsUnread says why the tasks of log backup are not known; "" where they are.
	LogBackupsUnread string
	// Unreadable is a *intent.MalformedError, where it is not known what is wanted.
	Unreadable error
	sight      sight
}

// Look observes a cluster for another verb that reads. Where the spec cannot be read, the rest is what is known without
// the configurations.
func Look(ctx context.Context, s *target.Session, kubeContext string) (Seen, error) {
	return looked(ctx, s, kubeContext, s.Observer.Against)
}

// Glance observes a cluster as Look does, for a verb that only shows the result. See observe.Observer.Glance.
func Glance(ctx context.Context, s *target.Session, kubeContext string) (Seen, error) {
	return looked(ctx, s, kubeContext, s.Observer.Glance)
}

func looked(ctx context.Context, s *target.Session, kubeContext string, see sees) (Seen, error) {
	l, err := look(ctx, s, see)
	if err != nil {
		return Seen{}, err
	}
	l.context = kubeContext
	return Seen{
		Wanted: l.wanted, Snapshot: l.snapshot, Plan: l.plan, Driver: l.driver, Operator: l.operator,
		LogBackupsUnread: l.logBackupsUnread, Unreadable: l.unreadable, sight: l,
	}, nil
}

// Document returns what "status -o json" prints.
func (s Seen) Document() (*unstructured.Unstructured, error) {
	c := s.Wanted.Cluster
	return output.Object("ClusterStatus", c.Namespace, c.Name, s.sight.view())
}

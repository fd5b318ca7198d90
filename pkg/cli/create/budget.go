package create

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/budget"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
)

// makeBudgets makes a PodDisruptionBudget for each component of a new cluster, so that a drain evicts one member at a
// time. No component gets a second one: Kubernetes evicts no pod that two of them select. The cluster can do without
// them, so an error is shown and the run goes on.
func makeBudgets(ctx context.Context, f *factory.Factory, kube kubernetes.Interface, c topology.Cluster) {
	have, err := observe.Budgets(ctx, kube, c.Namespace)
	for _, g := range c.Groups {
		if err != nil {
			break
		}
		if len(budget.Selecting(have.Items, c.Labels(g.Kind))) > 0 {
			continue
		}
		wanted := budget.Of(c, g.Kind).Manifest.(*policyv1.PodDisruptionBudget)
		_, err = kube.PolicyV1().PodDisruptionBudgets(c.Namespace).Create(ctx, wanted, metav1.CreateOptions{FieldManager: intent.FieldManager})
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
	}
	if err != nil {
		later := remedy.Remedy{remedy.Run("make them later", c.Plugin("doctor", "--fix"))}
		fmt.Fprintf(f.Streams.ErrOut, "warning: a drain may evict several members at once, because PodDisruptionBudgets could not be made: %v; %s\n",
			err, later.Line(f.Context()))
	}
}

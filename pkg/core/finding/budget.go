package finding

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/budget"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// budgetsMissing are components whose pods Kubernetes evicts without a limit.
func budgetsMissing(l Look) []Finding {
	var all []Finding
	for _, g := range l.Wanted.Groups {
		if l.Budgets == nil || g.Suspend || g.Size() < 2 || len(budget.Selecting(l.Budgets.Items, podLabels(l, g))) > 0 {
			continue
		}
		all = append(all, Finding{
			Component: g.Kind, Seen: "no PodDisruptionBudget selects its pods",
			Fix:    []step.Step{step.Apply{Component: g.Kind, Object: budget.Of(l.Wanted.Cluster, g.Kind)}},
			Remedy: remedy.Remedy{remedy.Run("make one, so that one pod at a time is evicted", l.Wanted.Cluster.Plugin("doctor", "--fix"))},
		})
	}
	return all
}

// budgetsOverlap are components with pods that Kubernetes does not evict at all, because several budgets select them.
func budgetsOverlap(l Look) []Finding {
	if l.Budgets == nil {
		return nil
	}
	var all []Finding
	for _, g := range l.Wanted.Groups {
		budgets := budget.Selecting(l.Budgets.Items, podLabels(l, g))
		if len(budgets) < 2 {
			continue
		}
		names := make([]string, len(budgets))
		for i, b := range budgets {
			names[i] = b.Name
		}
		all = append(all, Finding{
			Component: g.Kind, Seen: fmt.Sprintf("%d PodDisruptionBudgets select its pods: %s", len(budgets), strings.Join(names, ", ")),
			Remedy: remedy.Remedy{remedy.Run("delete all but one, such as", l.Wanted.Cluster.Delete("poddisruptionbudget", names[0]))},
		})
	}
	return all
}

// podLabels returns the labels of a component's pods, also labels that others have added to the pod template.
func podLabels(l Look, g desired.Group) map[string]string {
	if set, is := g.Set.Manifest.(*appsv1.StatefulSet); is {
		return set.Spec.Template.Labels
	}
	return l.Wanted.Cluster.Labels(g.Kind)
}

func budgetsUnknown(l Look) []Finding {
	if l.BudgetsUnread == "" {
		return nil
	}
	return []Finding{{Seen: "the PodDisruptionBudgets could not be read: " + l.BudgetsUnread, Remedy: remedy.Remedy{l.rights()}}}
}

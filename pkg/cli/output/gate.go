package output

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// Gate is a condition that a run waits for, in the documents of -o json and yaml.
type Gate struct {
	Component string          `json:"component,omitempty"`
	Member    string          `json:"member,omitempty"`
	Object    string          `json:"object,omitempty"`
	Reason    string          `json:"reason"`
	Message   string          `json:"message"`
	Observed  string          `json:"observed,omitempty"`
	Blocked   bool            `json:"blocked,omitempty"`
	Remedy    []remedy.Advice `json:"remedy,omitempty"`
}

// Gates returns the gates of a plan, an empty list for none: a consumer need not check for null. The context
// is the context of the commands in remedies.
func Gates(p plan.Plan, context string) []Gate {
	all := []Gate{}
	for _, g := range p.Gates {
		all = append(all, Gate{
			string(g.Component), g.Member, g.Object, string(g.Reason), g.String(), g.Observed, g.Blocked, g.Remedy.In(context),
		})
	}
	return all
}

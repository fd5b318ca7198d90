package remove

import (
	"context"
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/consent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
)

// confirm asks whether to delete the cluster.
func (o options) confirm(ctx context.Context, f *factory.Factory, s *target.Session) error {
	if o.yes {
		return nil
	}
	what := "its data stays"
	if o.claims {
		what = "ITS DATA IS DELETED TOO"
	}
	return consent.Ask(ctx, f, consent.Question{
		Namespace: s.Namespace, Name: s.Name, Effects: []string{what},
		Doing: fmt.Sprintf("delete cluster %s/%s", s.Namespace, s.Name),
	})
}

package reconcile

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"

// Reporters are several reporters that receive the same events, one after the
// other.
type Reporters []Reporter

// Report implements Reporter.
func (r Reporters) Report(e event.Event) {
	for _, to := range r {
		to.Report(e)
	}
}

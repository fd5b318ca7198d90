package maintenance

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// givenUp says for each component with members on the host after how long a daemon gives them up. That
// of stores is not known without the time of PD.
func givenUp(h hosts.Host, at hosts.Sight) []string {
	var all []string
	for _, p := range component.Profiles() {
		if p.Failover == nil || p.Kind.Data() == topology.Store && at.Snapshot.PD.MaxStoreDown == 0 {
			continue
		}
		for _, m := range h.Members(at) {
			after := p.Failover.Period(plan.Scope{Component: facts.Component{All: &at.Snapshot}})
			if m.Kind == p.Kind {
				all = append(all, fmt.Sprintf("%s (%s)", short(after), p.Kind.Title()))
				break
			}
		}
	}
	return all
}

// short returns a duration without zeros at its end.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

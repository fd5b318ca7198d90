package status

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
)

// older reports members that show another certificate than the one in their Secret.
func older(c topology.Cluster, served []observe.Served) []desired.Notice {
	var all []desired.Notice
	for _, s := range served {
		if is, known := s.Older(); !known || !is {
			continue
		}
		all = append(all, desired.Notice{
			Reason: event.CertificateOlder, Component: s.Kind, Member: s.Member,
			Text: fmt.Sprintf("shows a certificate that ends on %s, not the one in Secret %s; a kubelet takes up to two minutes to give a changed Secret to a pod",
				s.Leaf.NotAfter.UTC().Format(time.DateOnly), c.MemberSecret(s.Kind)),
			Remedy: remedy.Remedy{remedy.Run("if it stays so, restart members one after another", c.Plugin("restart", string(s.Kind)))},
		})
	}
	return all
}

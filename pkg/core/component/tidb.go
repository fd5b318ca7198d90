package component

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TiDB's members keep no data. They read it from TiKV, and need PD for that.
func TiDB() plan.Profile {
	return plan.Profile{
		Kind:         topology.TiDB,
		Needs:        []plan.Need{pdServes, tikvServes, pumpServes},
		BeforeRemove: []plan.Hook{plan.LeftoverMarked},
		Failover: &plan.Failover{
			Period: func(plan.Scope) time.Duration { return failoverPeriod },
			Spare: func(_ plan.Scope, m state.Member, _ bool) string {
				if m.Pod == nil || m.Pod.Node == "" {
					return "there is no place for its pod, nor would be for another"
				}
				return ""
			},
		},
	}
}

var tikvServes = plan.Need{
	Reason: plan.TiKVServing, Want: "TiKV serving",
	Holds: func(sc plan.Scope) bool {
		return sc.All.PD.Bootstrapped && sc.All.Groups[topology.TiKV].Up() > 0
	},
	Observed: func(sc plan.Scope) string {
		kv := sc.All.Groups[topology.TiKV]
		if kv.Up() > 0 {
			return "PD is not bootstrapped"
		}
		return fmt.Sprintf("%d of %d stores up", kv.Up(), kv.Set.Replicas)
	},
}

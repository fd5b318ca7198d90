package component

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TiDB's members keep no data. They read it from TiKV, and need PD for that.
func TiDB() plan.Profile {
	return plan.Profile{
		Kind:          topology.TiDB,
		Needs:         []plan.Need{pdServes, pdUpgraded, tsoServes, tikvServes, pumpServes},
		Standing:      []plan.Hook{firstPasswordSet},
		BeforeRestart: []plan.Hook{plan.DDLPaused},
		Together:      &serversTogether,
		BeforeRemove:  []plan.Hook{plan.LeftoverMarked},
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
		return sc.All.PD.Bootstrapped && (sc.All.Groups[topology.TiKV].Up() > 0 || storesServeElsewhere(sc))
	},
	Observed: func(sc plan.Scope) string {
		kv := sc.All.Groups[topology.TiKV]
		if kv.Up() > 0 {
			return "PD is not bootstrapped"
		}
		if n := kv.Unknown(); n > 0 {
			return fmt.Sprintf("%d of %d stores unknown", n, kv.Set.Replicas)
		}
		if sc.Cluster.IsPart() && kv.Set.Replicas == 0 {
			return "no store up in another part"
		}
		return fmt.Sprintf("%d of %d stores up", kv.Up(), kv.Set.Replicas)
	},
}

// storesServeElsewhere reports whether PD calls a store Up that is a member of another part. TiDB needs no store of its
// own part.
func storesServeElsewhere(sc plan.Scope) bool {
	if !sc.All.PD.Shared {
		return false
	}
	up := sc.All.PD.UpStores
	for _, m := range sc.All.Groups[topology.TiKV].Members {
		if m.CountsAsStore() && m.Database.State == state.StoreUp {
			up--
		}
	}
	return up > 0
}

// firstPasswordSet is the goal that root has the first password that the user asks for. The first server that is up
// sets it for all. The step comes after a rollout and a change of the number of servers. Servers that cannot be
// connected to may need just such a change. A step that fails would hold back the next step of its component.
var firstPasswordSet = plan.Hook{
	Reason: plan.FirstPasswordSet, Want: "first password of root set",
	Done: func(sc plan.Scope, m state.Member) bool {
		return !sc.Want.FirstPassword || changes(sc) || !firstUp(sc, m)
	},
	Step: func(sc plan.Scope, m state.Member) step.Step {
		return step.SetPassword{Component: m.Kind, Member: m.Name, PodUID: m.Pod.UID, Secret: sc.Cluster.InitSecret()}
	},
	Help: func(sc plan.Scope, m state.Member) remedy.Remedy {
		return remedy.Remedy{
			remedy.Say("set a password of root with an SQL client: it is kept, and recorded"),
			remedy.Run("see its log", sc.Cluster.Kubectl("logs", m.Name, "-c", string(m.Kind))),
		}
	},
}

// changes reports whether pods are to be replaced, other than by the user, or their number changes.
func changes(sc plan.Scope) bool {
	outdated := slices.ContainsFunc(sc.Got.InSet(), sc.Got.Outdated)
	return !sc.Got.Set.Ordinals().Same(sc.Want.Ordinals()) || sc.Want.Set.Drift != desired.None || outdated && !sc.Got.Set.Manual
}

// firstUp reports whether a member is up, and none with a lower ordinal is.
func firstUp(sc plan.Scope, m state.Member) bool {
	i := slices.IndexFunc(sc.Got.InSet(), state.Member.Up)
	return i >= 0 && sc.Got.InSet()[i].Ordinal == m.Ordinal
}

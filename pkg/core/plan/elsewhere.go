package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// storesElsewhere waits for missing stores of other clusters.
func (sc Scope) storesElsewhere() verdict {
	missing := sc.MissingElsewhere()
	if missing == "" {
		return verdict{}
	}
	return wait(Gate{
		Component: sc.Want.Kind, Reason: StoresElsewhereUp, Want: StoresElsewhereWanted, Source: FromDatabase,
		Observed: missing, Remedy: StoresElsewhereHelp(*sc.Cluster, *sc.All),
	})
}

// StoresElsewhereWanted is what a gate with the reason StoresElsewhereUp waits for.
const StoresElsewhereWanted = "stores elsewhere Up"

// StoresElsewhereHelp is what a person can do about stores elsewhere that PD does not call Up.
func StoresElsewhereHelp(c topology.Cluster, s state.Snapshot) remedy.Remedy {
	return remedy.Remedy{
		remedy.Run("see which stores these are, and wait until they serve", PDCtl(c, s, "store")),
		remedy.Say("if one of them never comes back, remove it in PD (store delete), and wait until PD does not list it"),
	}
}

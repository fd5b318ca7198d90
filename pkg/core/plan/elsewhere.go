package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// storesElsewhere waits for stores that PD counts and that are members of another cluster. Such stores are peers of the
// stores here. Copies of TiFlash vote for nothing, so stores of TiFlash wait for none of them.
func (sc Scope) storesElsewhere(p Profile) verdict {
	if p.Kind.Data() != topology.Store || p.Kind.Optional() {
		return verdict{}
	}
	missing := state.MissingElsewhere(*sc.All)
	if missing == "" {
		return verdict{}
	}
	return wait(Gate{
		Component: p.Kind, Reason: StoresElsewhereUp, Want: StoresElsewhereWanted, Source: FromDatabase,
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

// peersServe reports whether all peers of a member that is to be restarted serve, here and elsewhere.
func (sc Scope) peersServe(p Profile, m state.Member) bool {
	return sc.peersMissing(p, m).idle() && sc.storesElsewhere(p).idle()
}

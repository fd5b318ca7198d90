package sim

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// The truth of a member is apart from what is reported of it. A rule is judged by
// the truth; the engine sees the reports, which are late and sometimes wrong.

// serves reports whether a member does its work, whatever Kubernetes, PD or its own status port say. Its process runs
// and is past its start. Also, a PD member takes part in a quorum, and a store has its data and has announced itself to
// PD. A TiDB server has a store to read from, a TiProxy takes connections, a capture of TiCDC sends changes. A process
// that ends half a minute after each start does not serve, from the third time on.
func (w *Model) serves(k kind, i int) bool {
	p := w.pods[k][i]
	if !w.works(p) || w.t < p.readyAt || p.crashLoops() {
		return false
	}
	switch k.data() {
	case topology.Raft:
		m := w.pd.memberAt(i)
		return m != nil && w.alive(*m) && w.hasQuorum()
	case topology.Store:
		s := w.storeOf(k, i)
		return s != nil && s.announced >= p.started
	}
	return servers[k](w, i)
}

// inSight reports whether a live observation shows that a member serves. For some seconds
// it shows that of a store whose host is lost, and it cannot be known better.
func (w *Model) inSight(k kind, i int) bool {
	p := w.pods[k][i]
	if p == nil || !p.ready || p.terminating() {
		return false
	}
	switch k.data() {
	case topology.Raft:
		m := w.pd.memberAt(i)
		return m != nil && w.known() && (w.pinged(*m) || w.takesPart(*m))
	case topology.Store:
		s := w.storeOf(k, i)
		if s == nil || w.isUnlisted(s) || !w.storesKnown() || w.shownState(s) != state.StoreUp && s.dated != noHeartbeat {
			return false
		}
		return s.heartbeat >= p.started || w.serves(k, i) && w.storeAnswers(k, i) == state.Answered
	case topology.Binlog:
		return w.known() && w.observePump(i).Healthy
	}
	return w.portAnswers(k, i) == state.Answered
}

// fit reports whether a wanted member is as it has to be when the cluster has converged. It serves, and all reports say
// so.
func (w *Model) fit(k kind, i int) bool { return w.serves(k, i) && w.inSight(k, i) }

// served reports whether a member served both when the engine looked and now. A PD that has had no leader for longer
// than an election takes has served nobody, though a quorum may have just come back.
func (w *Model) served(k kind, i int) bool {
	if k.data() == topology.Raft && w.t-w.pd.ledAt > election {
		return false
	}
	return w.seen.serves[k][i] && w.serves(k, i)
}

// missing reports whether a member served at neither moment and the engine could see
// that. While a peer is missing, no other member may be taken away.
func (w *Model) missing(k kind, i int) bool {
	return !w.seen.serves[k][i] && !w.seen.inSight[k][i] && !w.serves(k, i)
}

// servers are the components whose members have a port that says whether they serve. Each has a function for what such
// a member does for clients.
var servers = [components]func(*Model, int) bool{
	tidb:    (*Model).answersSQL,
	tiproxy: (*Model).passesOn,
	ticdc:   (*Model).captures,
	pump:    (*Model).takesBinlog,
}

// tells are the components whose members say more than that they serve.
var tells = [components]func(*Model, int, *state.Database){ticdc: (*Model).askCapture}

// answersSQL reports whether a TiDB server serves clients.
func (w *Model) answersSQL(i int) bool {
	p := w.pods[tidb][i]
	if !w.works(p) || w.t < p.started+3 || !w.serving() {
		return false
	}
	for _, s := range w.stores {
		if s.k.leads() && w.storeRuns(s) {
			return true
		}
	}
	return false
}

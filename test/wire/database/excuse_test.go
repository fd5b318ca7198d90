package database

import (
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// excuse makes the same what the model is known to show otherwise than the real clients read it. Each case says which
// part of the model that is.
func excuse(m *sim.Model, pdKnown bool, read, shown *state.Member) {
	r, s := &read.Database, &shown.Database
	k, clock := read.Kind, m.ClockOf(read.Kind, read.Ordinal)
	switch {
	case k == topology.PD:
		excusePD(pdKnown, shown.Pod != nil && strings.HasSuffix(shown.Pod.Revision, "deaf"), r, s)
	case k.Data() == topology.Store:
		excuseStore(m, read, shown)
	case k == topology.Pump && clock > 0:
		*r = *s // observePump does not regard that the clock of the host is ahead
	case k == topology.Pump && s.Healthy && strings.HasPrefix(r.Problem, "Pump does not renew") && m.Now().Sub(r.Since) < 25*time.Second:
		*r = *s // pumpWrites is exact, and the real client rounds the difference of the clocks
	case k == topology.Pump && s.Healthy && strings.HasPrefix(r.Problem, "Pump has not registered") && shown.Pod.Started.Sub(r.Since) < 3*time.Second:
		*r = *s // so it does with the time of what a Pump writes first
	case k == topology.TiCDC && s.Answer == state.Refused:
		*r = *s // observeServer: the real client takes an error of TiCDC for no answer, and a refusal for no process
	case k == topology.TiCDC && s.Capture.Leads == "":
		s.Capture.Owner = r.Capture.Owner // askCapture: what a capture says of itself is read without an owner, too
	case s.Answer == state.Refused && s.Listening && strings.Contains(shown.Pod.Revision, "statusless"):
		s.Listening = false // observeServer: nothing listens on the port
	}
}

func excusePD(known, deaf bool, r, s *state.Database) {
	r.Since = s.Since // it comes from the status of the TidbCluster
	switch {
	case deaf: // speaks lets it answer, and memberAnswers does not
		r.Answer = s.Answer
	case !known: // answersPing takes each process that runs for one that answers
		r.Answer = s.Answer
	case s.Presence == state.Absent, s.Healthy && r.Healthy: // observeMember asks only those that are listed and not healthy
		r.Answer = s.Answer
	}
}

func excuseStore(m *sim.Model, read, shown *state.Member) {
	r, s := &read.Database, &shown.Database
	p := shown.Pod
	switch {
	case strings.HasPrefix(s.Problem, "its claim has the label"), strings.HasPrefix(s.Problem, "PD lists no store"):
		*r = *s // observeUnlisted takes each claim for one that has its label now, and says of a process only that it answers
	case s.Presence == state.Unknown && !bootstrapped(m): // storesKnown: PD says at once that it has no stores
		*r = *s
	case s.Presence == state.Absent && r.State == state.StoreTombstone && len(shown.Claims) == 0:
		*r = *s // observeStore: a tombstone of which there is no claim is shown as absent
	case s.State == state.StoreTombstone && r.State == state.StoreTombstone: // askItself asks none that is a tombstone
		r.Answer, r.Leaders = s.Answer, s.Leaders
	case (s.State == state.StoreTombstone || r.State == state.StoreTombstone) && r.Presence != s.Presence && (clocksDiffer(m) || s.Since.IsZero()):
		*r = *s // storeAt goes by the data; the last heartbeat may be dated by the clock of an earlier leader, or not be there
	case s.Presence == state.Absent: // observeStore asks no process that PD does not list
		r.Answer, r.Listening = s.Answer, s.Listening
	case s.Presence == state.Unknown: // observeStore counts no leaders where PD does not
		r.Leaders, r.Regions = s.Leaders, s.Regions
	case p != nil && p.Restarts == 0 && r.Healthy && s.State == state.StoreUp && p.Made.Sub(m.ClaimMade(read.Kind, read.Ordinal)) <= 3*time.Second:
		*r = *s // heard, registered: the first process on a claim counts as registered also when it has regions
	case r.New && r.Healthy && m.ClockOf(read.Kind, read.Ordinal) < 0:
		*r = *s // awaited: the times of a host whose clock is behind are corrected
	case p != nil && !p.Ready && s.Healthy && s.Answer == state.NotAsked: // askItself asks none for which only Kubernetes is in doubt
		r.Answer, r.Leaders, r.Regions = s.Answer, s.Leaders, s.Regions
	case r.Healthy && s.Healthy && r.Answer == state.NotAsked:
		r.Answer = s.Answer
	case s.Answer == state.Refused && s.Leaders == -1 && p != nil && p.Started.IsZero():
		s.Leaders = r.Leaders // askStore: of a process that Kubernetes does not report either, PD's count is kept
	case s.Listening && r.State == state.StoreUp:
		s.Healthy, s.Since = false, r.Since // askTiFlash: what TiFlash says of itself counts more than what PD has heard
	}
}

func bootstrapped(m *sim.Model) bool {
	stores, _ := m.Stores()
	return len(stores) > 0
}

func clocksDiffer(m *sim.Model) bool {
	for i := range 16 {
		if m.ClockOf(topology.PD, i) != 0 {
			return true
		}
	}
	return false
}

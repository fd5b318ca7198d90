package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Gates that wait for members to serve.

// membersDown waits for all members that do not serve. Nothing is taken away while a peer is missing.
func (sc Scope) membersDown() verdict { return sc.awaitServing(sc.NotServing(sc.Got.InSet())) }

// awaitServing returns a gate for each of some members, which do not serve.
func (sc Scope) awaitServing(members []state.Member) verdict {
	var v verdict
	for _, m := range members {
		v.gates = append(v.gates, serving(sc, m))
	}
	return v
}

// serving is the gate of a member that does not serve.
func serving(sc Scope, m state.Member) Gate {
	g := Gate{Component: m.Kind, Member: m.Name, Reason: MemberServing, Want: "serving", Observed: m.Trouble()}
	switch {
	case sc.Loops(m):
		return sc.crashing(m, g)
	case m.Pod == nil:
		if o, ok := sc.MemberBefore(m); ok {
			g.Observed, g.waitsForOthers = "no pod before "+o.Name+" is ready", true
			return g
		}
		return sc.withinTimeToServe(g, m.Gone, sc.podAdvice(m))
	case m.Pod.Ready && !m.Pod.Terminating:
		return sc.readyNotServing(m, g)
	}
	return sc.withinTimeToServe(g, m.Pod.Since, sc.podAdvice(m))
}

// crashing is the gate of a member that crashes again and again.
func (sc Scope) crashing(m state.Member, g Gate) Gate {
	if m.Up() {
		g.Observed = fmt.Sprintf("restarted %d times, last %s ago", m.Pod.Restarts, state.Age(sc.All.At.Sub(m.Pod.Started)))
	}
	return sc.withinTimeToServe(g, sc.LoopingSince(m.Pod), sc.logs(m, "--previous"))
}

// readyNotServing is the gate of a member whose pod is Ready. What the database reports
// may change within seconds, so the gate is Blocked only after this process has seen it
// for a while.
func (sc Scope) readyNotServing(m state.Member, g Gate) Gate {
	g.Source = FromDatabase
	if m.Database == (state.Database{}) && !sc.All.PD.Known() {
		g.Observed = sc.All.PD.Problem
	}
	if m.Database.State == state.StoreOffline {
		return sc.leaving(m, g)
	}
	since := sc.NotServingSince(m)
	if since.IsZero() {
		since = m.NotServing
	}
	g = sc.withinTimeToServe(g, since, sc.logs(m))
	if seen := m.NotServing.Add(facts.Settling); g.Deadline.Before(seen) {
		g.Deadline, g.Blocked = seen, !sc.All.At.Before(seen)
	}
	return g
}

// leaving is the gate of a store that leaves PD and runs. Its heartbeats go on, so that the last one is no begin of the
// wait. The wait ends when no region leaves any more.
func (sc Scope) leaving(m state.Member, g Gate) Gate {
	if left := m.Database.Regions; left >= 0 {
		g.Left = Quantity{Number: int64(left), Unit: Regions}
		g.Observed += ", " + remedy.Count(left, "region", "regions") + " left" + FullObserved(sc, m)
	}
	g.Remedy = slices.Concat(MakeRoom(sc, m), sc.logs(m))
	return g
}

// withinTimeToServe gives a gate the time that a member may take to serve, where the beginning is known. A member of
// PD does not call for a person while PD may be in an election. After the election the engine decides what a PD
// without a leader needs, such as members whose pods were taken away.
func (sc Scope) withinTimeToServe(g Gate, since time.Time, help remedy.Remedy) Gate {
	g.Remedy = help
	if since.IsZero() {
		return g
	}
	g.Since, g.Deadline = since, since.Add(facts.TimeToServe)
	electing := sc.Want.Kind.Data() == topology.Raft && sc.All.PD.Electing
	g.Blocked = !electing && !sc.All.At.Before(g.Deadline)
	return g
}

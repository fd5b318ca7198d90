package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// maxFailures bounds the failovers of a component.
const maxFailures = 3

// failoverAfter is how long a member has to be down before it may be given up, in seconds. For PD and TiDB that is five
// minutes. For a store it is five minutes after PD calls the store Down. Down counts from the last heartbeat, after
// which the store still counts as up for a while.
var failoverAfter = [...]int64{pd: 300, tikv: downAfter + 300 - disconnected, tiflash: downAfter + 300 - disconnected, pump: 300, tidb: 300, tiproxy: 300, ticdc: 300}

// policyOfDaemon is what a daemon may do by itself.
func (w *Model) policyOfDaemon() plan.Policy {
	p := w.policy()
	p.Concurrency = plan.Concurrency{}
	return p
}

// policy is what the engine may do by itself.
func (w *Model) policy() plan.Policy {
	return plan.Policy{Failover: plan.Failing{Members: w.Failover, Now: w.AtOnce, Discard: w.discard}, Eviction: w.Eviction, Concurrency: w.Concurrency}
}

// tickUp records which members are up, as far as that can be known. To do that every second would
// cost more than all the rest; grain is how many seconds it may be wrong.
func (w *Model) tickUp() {
	if w.t%grain != 0 {
		return
	}
	for k := range kinds {
		for i, p := range w.pods[k] {
			if p != nil && w.serves(kind(k), i) && (kind(k).data() != topology.Store || w.knowable(w.storeOf(kind(k), i), p)) {
				w.lastUp[k][i] = w.t
			}
		}
	}
}

// knowable reports whether it can be known that a store serves. PD gets heartbeats of the store, or, while PD does not
// serve, the store's pod is Ready. While PD serves, a Ready pod is not enough: a store that crashes again and again is
// Ready from time to time.
func (w *Model) knowable(s *store, p *pod) bool {
	if w.serving() {
		return s.muffled <= w.t
	}
	return p.ready
}

const grain = 5

func (w *Model) failure(k kind, member string) *topology.Failure {
	return failureOf(w.failures[k], member)
}

func failureOf(all []topology.Failure, member string) *topology.Failure {
	for i := range all {
		if all[i].Member == member {
			return &all[i]
		}
	}
	return nil
}

func (w *Model) recordFailure(s step.RecordFailure) error {
	k := kindOf(s.Component)
	i, _ := w.index(s.Component, s.Member)
	switch f := w.failure(k, s.Member); {
	case f != nil:
		w.failures[k] = slices.Clone(w.failures[k]) // observations share the old one
		w.failure(k, s.Member).Discarded = f.Discarded || s.Discarded
		return nil
	case len(w.failures[k]) >= maxFailures, w.Intent.Paused:
		return errConflict
	case k.data() != topology.None && (!w.serving() || !w.reached()):
		return errNoPD
	case k.data() == topology.Raft && w.pd.memberAt(i) != nil && w.alive(*w.pd.memberAt(i)):
		return errors.New("the member is healthy again")
	case k.data() == topology.Store && (w.store(s.ID) == nil || w.shownState(w.store(s.ID)) == state.StoreUp):
		return errors.New("the store is Up again")
	}
	w.failures[k] = append(slices.Clone(w.failures[k]), topology.Failure{
		Member: s.Member, ID: s.ID, Claims: s.Claims, Created: w.Now(), Discarded: s.Discarded,
	})
	return nil
}

func (w *Model) retireFailure(s step.RetireFailure) error {
	k := kindOf(s.Component)
	w.failures[k] = slices.Clone(w.failures[k])
	f := w.failure(k, s.Member)
	if f == nil {
		return errConflict
	}
	f.Deleted = true
	return nil
}

func (w *Model) forgetFailure(s step.ForgetFailure) error {
	k := kindOf(s.Component)
	w.failures[k] = slices.DeleteFunc(slices.Clone(w.failures[k]), func(f topology.Failure) bool {
		return f.Member == s.Member
	})
	return nil
}

// judgeFailure checks that a member is given up only if it is down. It must have been down for as long as its
// component's period asks. The member must not fail because of the revision that is being rolled out.
func (w *Model) judgeFailure(s step.RecordFailure, say sayer) {
	k := kindOf(s.Component)
	i, _ := w.index(s.Component, s.Member)
	w.Soft.Failovers++
	if w.seen.hidden[k][i] {
		return // it came back after the observation, which no engine could know
	}
	w.judgeExpiry(k, i, say)
	if w.served(k, i) {
		say("failover", "it serves")
	}
	if w.failure(k, s.Member) != nil {
		return
	}
	// This is the time at the observation: no engine could know what came back later. PD may not
	// have heard of the last minutes in which a store served.
	ago := w.seen.at - w.seen.lastUp[k][i]
	if p := w.pods[k][i]; p != nil && p.crashLoops() { // its first runs of half a minute are a part of that
		ago = max(ago, w.seen.at-p.firstCrash)
	}
	if s := w.storeOf(k, i); k.data() == topology.Store && s != nil {
		ago += min(max(0, w.seen.lastUp[k][i]-s.heartbeat), savedEvery)
	}
	if ago+grain+poll < failoverAfter[k] { // between two looks it may have served
		say("failover", "it served %s ago", time.Duration(ago)*time.Second)
	}
	if p := w.pods[k][i]; p != nil {
		w.judgeFailedPod(k, i, p, say)
	}
}

// judgeFailedPod checks the pod of a member that is given up, because a new pod is a new attempt. Also, a pod of the
// revision that is being rolled out may fail because of that revision.
func (w *Model) judgeFailedPod(k kind, i int, p *pod, say sayer) {
	if p.made <= w.seen.at && w.seen.at-p.made < failoverAfter[pd] {
		say("failover", "its pod was made %s ago", time.Duration(w.t-p.made)*time.Second)
	}
	set := &w.sets[k]
	if w.gone(k, i) && w.seen.gone[k][i] {
		return // the database has removed it, so that it serves with no revision
	}
	if p.revision == set.update && w.seen.revision[k][i] == set.update && w.rolls(k) && set.observed == set.generation && !w.revisionServed(k, i) {
		say("failover", "its pod is of revision %s, which is being rolled out", set.update)
	}
}

// unknowable reports whether it cannot be known that a member without data serves. Kubernetes has had no report from
// the host for as long as a member must be down to be given up. The server can be asked only through the kubelet of
// that host. Kubernetes itself replaces such a pod.
func (w *Model) unknowable(k kind, i int) bool {
	p := w.pods[k][i]
	return k.data() == topology.None && p != nil && !p.ready && w.portAnswers(k, i) != state.Answered && w.t-p.since >= failoverAfter[k]
}

// revisionServed reports whether another member has served with the update revision, in
// its present pod. Then the template works, also where the host of that member was lost
// since, which cannot be known at once.
func (w *Model) revisionServed(k kind, except int) bool {
	for i := range limit {
		p := w.pods[k][i]
		if i != except && p != nil && p.made < w.seen.lastUp[k][i] && w.seen.revision[k][i] == w.sets[k].update {
			return true
		}
	}
	return false
}

// going reports whether the claim of a member is being deleted.
func (w *Model) going(k kind, i int) bool {
	c := w.claims[k][i]
	return c != nil && c.goneAt != never
}

// dataBeingDeleted reports whether PD counts on a member whose data is deleted with its pod. PD must have done so when
// the engine observed too.
func (w *Model) dataBeingDeleted(k kind, i int) bool {
	counts := false
	switch k.data() {
	case topology.Raft:
		counts = w.seen.members[i] && w.pd.memberAt(i) != nil
	case topology.Store:
		counts = w.seen.stores[k][i] && w.storeOf(k, i) != nil
	}
	return counts && w.seen.going[k][i] && w.going(k, i)
}

// rolls reports whether a component has pods that are yet to be replaced. Kubernetes
// never reports that this is over where the user replaces them.
func (w *Model) rolls(k kind) bool {
	set := &w.sets[k]
	for i := range set.spec.each() {
		if p := w.pods[k][i]; p != nil && p.revision != set.update {
			return true
		}
	}
	return !set.byHand() && set.current != set.update
}

// leavesReplaced reports whether a member that was given up serves again, and leaves because it is to be replaced.
func (w *Model) leavesReplaced(k kind, i int) bool {
	return w.seen.replaces[k][i] && w.replaces(k, i) && w.served(k, i)
}

// judgeRemoval checks why a member leaves the database. Either the user does not want the member, while no peer is
// missing, or the member was given up, and then it is down.
func (w *Model) judgeRemoval(k kind, i int, id uint64, say sayer) {
	// Else the user's wish or the deletion of its claim was the reason, and not that the member was down.
	wanted := w.seen.intent.wants(k, i) && !w.seen.going[k][i] && !w.seen.replaces[k][i]
	if c := w.claims[k][i]; wanted && w.nap.woke && c != nil && c.data == id && !w.seen.serves[k][i] && w.fit(k, i) {
		say("late", "%s is back", w.names[k][i])
	}
	f := w.failure(k, w.names[k][i])
	if f == nil { // another engine may have ended the failover since
		f = failureOf(w.seen.failures[k], w.names[k][i])
	}
	if f == nil || f.ID != id || w.leavesReplaced(k, i) || k.data() == topology.Store && !f.Discarded {
		if !w.nothingLeft(k, i) {
			w.judgeLoss(k, i, say)
		}
		if !w.seen.going[k][i] { // that its data was deleted with its pod since then could not be known
			w.judgeWanted(k, i, say)
		}
		return
	}
	if w.served(k, i) {
		say("failover", "%s is removed, but serves", w.names[k][i])
	}
}

// startTime is how many seconds a new member of PD may take until it has joined.
const startTime = 600

// nothingLeft reports whether nothing is lost with a member. The member has neither a pod nor data, or PD has added the
// member, and it has never started and is not about to.
func (w *Model) nothingLeft(k kind, i int) bool {
	p := w.pods[k][i]
	if m := w.pd.memberAt(i); k.data() == topology.Raft && m != nil && !m.started {
		return p == nil || w.t-p.made >= startTime
	}
	return p == nil && w.claims[k][i] == nil
}

// restOfFailures checks that all failovers are over, except those of members that are not
// to run now.
func (w *Model) restOfFailures() {
	for k := range kinds {
		if n := len(w.failures[k]); n > 0 && w.Intent.Recover && !w.Intent.Suspend[k] {
			w.broke("rest", "%s has %d failovers", kinds[k].Title(), n)
		}
	}
}

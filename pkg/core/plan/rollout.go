package plan

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// beforeRollout must hold, in this order, before the next member of a component is restarted. What is true of the whole
// component comes first, then which member is next.
var beforeRollout = []condition{
	{want: "rollouts of earlier components finished", because: "components are restarted in an order that keeps versions compatible", by: ByTool, waits: (*subject).queued},
	isWritten,
	{want: "all other members serving", because: "no member is restarted while another one is missing", by: ByKubernetes, waits: (*subject).peersServing},
	{want: StoresElsewhereWanted, because: "stores of other clusters have copies of the same regions", by: ByPerson, waits: (*subject).storesOfOthers},
	{want: "StatefulSet shows the finished rollout", because: "members that a user has named come after the rollout", by: ByKubernetes, waits: (*subject).rolloutEnded},
	{want: "canary promoted", because: "a person decides whether the other members follow", by: ByPerson, waits: (*subject).canary},
	{want: "restart not left to a person", because: "with OnDelete only a person restarts members", by: ByPerson, waits: (*subject).manual},
	{want: "members of the batch may be down together", because: "no data may have two copies among them", by: ByDatabase, waits: (*subject).batchProven},
	{want: "order of restarts left to the run", because: "a partition reaches the highest ordinals only", by: ByTool, waits: (*subject).ordered},
}

// isWritten is asked before a rollout and before a repair.
var isWritten = condition{
	want: "configuration and pod template written", because: "a pod that is made now gets the new ones", by: ByTool, waits: (*subject).written,
}

// beforeRestart must hold, in this order, before the pod of the next member is replaced. What leaves the member comes
// last, because the member does without it from then on.
var beforeRestart = []condition{
	{want: "restarted members ready for long enough", because: "spec.minReadySeconds asks for that", by: ByKubernetes, waits: (*subject).minReadyPassed},
	{by: ByDatabase, because: "clients notice the restart as little as possible", goals: func(p *Profile) []Hook { return p.BeforeRestart }},
	{want: "pod not being replaced already", because: "Kubernetes replaces the pod, because the partition is lowered", by: ByKubernetes, waits: (*subject).underReplacement},
}

// rollout replaces pods, batch by batch. Without concurrency that is one by one, from the highest ordinal down.
func (d *decision) rollout() verdict {
	next, _ := d.Candidate()
	s := d.about(next)
	if v := firstUnmet(beforeRollout, s); !v.idle() || !s.due {
		return v
	}
	return d.replaceBatch(next)
}

// queued waits for an earlier component, where there is anything to roll out.
func (s *subject) queued() verdict {
	_, outdated := s.HighestOutdated()
	if s.queue.by == "" || !s.due && !outdated && !s.IsDrifted() {
		return verdict{}
	}
	queued := wait(Gate{
		Component: s.Want.Kind, Reason: RolloutQueued, Want: "rollout can begin", waitsForOthers: true,
		Observed: "rollout queued behind " + s.queue.by.Title(),
	})
	if s.queue.canary {
		queued = s.membersDown().plus(queued)
	}
	return queued
}

func (s *subject) written() verdict { return s.upload() }

// peersServing waits for members that do not serve. It does not wait for members that were given up if all of them are
// replaced and nothing is to be rolled out.
func (s *subject) peersServing() verdict {
	if _, outdated := s.HighestOutdated(); !s.due && !outdated && s.AllReplaced() {
		return verdict{}
	}
	return s.peersDown(s.member)
}

func (s *subject) storesOfOthers() verdict {
	if !s.due {
		return verdict{}
	}
	return s.storesElsewhere()
}

// rolloutEnded waits for the end of a rollout of which no pod is left to replace. Members that a user has named come
// then.
func (s *subject) rolloutEnded() verdict {
	if _, outdated := s.HighestOutdated(); outdated {
		return verdict{}
	}
	return s.rolloutFinished(s.due)
}

// canary stops the rollout where only members are left that a canary holds. A member that keeps old volumes waits for a
// replacement, and not for the canary.
func (s *subject) canary() verdict {
	last, outdated := s.Highest(func(m state.Member) bool { return s.Got.Outdated(m) && !s.KeepsOldVolumes(m) })
	if s.due || !outdated {
		return verdict{}
	}
	return s.stopAtCanary(last)
}

func (s *subject) manual() verdict {
	if !s.due || !s.LeftToUser(s.member) {
		return verdict{}
	}
	return wait(s.manualRestartGate(s.member))
}

// underReplacement waits for the pod of a member that Kubernetes may replace already.
func (s *subject) underReplacement() verdict {
	m := s.member
	if s.Got.Set.Partition > m.Ordinal || s.Got.Set.InBatches || !m.Up() || s.RestartsOutsideRollout(m) {
		return verdict{}
	}
	return wait(Gate{Component: m.Kind, Member: m.Name, Reason: PodReplaced, Want: "pod replaced", Observed: "it has the old revision"})
}

// rolloutFinished waits until a rollout has ended in all that is reported of it. What members report cannot keep back a
// member that a user has named: its restart may be what mends the report.
func (sc Scope) rolloutFinished(named bool) verdict {
	if v := sc.finish(); named || !v.idle() {
		return v
	}
	return sc.asksVersion()
}

// peersDown waits for all members that do not serve. It does not wait for the member to restart
// next, which could prevent its own repair. If it waits for others, that member has a gate as well.
// Where no member is next, next has no pod, and all are waited for.
func (d *decision) peersDown(next state.Member) verdict {
	all := d.membersDown()
	if !next.Up() && (d.LeftToUser(next) || !d.restartsInOrder(next)) {
		return all
	}
	peers := d.awaitServing(d.missingBeside(next))
	if peers.idle() || next.Up() {
		return peers
	}
	return all
}

// replace restarts a member when all conditions for its restart hold.
func (d *decision) replace(m state.Member) verdict {
	ready := firstUnmet(beforeRestart, d.about(m))
	if !ready.idle() {
		return ready
	}
	return act(d.restart(m, strings.Join(ready.notes, ", ")))
}

// manualRestartGate returns the gate of a pod that is replaced only when a user asks for it. Either the spec says so,
// or the StatefulSet was changed by hand. A restart by name has the checks of a rollout. A tidb-operator that drives
// the cluster does not know it, so the deletion of the pod is offered, too.
func (sc Scope) manualRestartGate(m state.Member) Gate {
	g := Gate{
		Component: m.Kind, Member: m.Name, Reason: ManualRestart, Want: "pod replaced", Blocked: true,
		Observed: "update strategy is OnDelete", Remedy: remedy.Remedy{
			remedy.Run("restart it as a rollout does", sc.Cluster.Plugin("restart", m.Name)),
			remedy.Run("delete its pod without the checks of a rollout", sc.Cluster.Delete("pod", m.Name)),
		},
	}
	if !sc.Want.Manual {
		g.Observed = "the StatefulSet was set to OnDelete by hand"
		g.Remedy = append(g.Remedy, sc.handOver())
	}
	return g
}

// handOver returns the advice to leave restarts to a run although the StatefulSet has OnDelete. With RollingUpdate and a
// closed partition, a restarted member that loses its pod would come back with the old version on new data. The
// annotation keeps OnDelete until all members are restarted.
func (sc Scope) handOver() remedy.Action {
	set := sc.Cluster.SetName(sc.Want.Kind)
	return remedy.Run("have all of them restarted, with the checks of a rollout",
		sc.Cluster.Kubectl("annotate", sc.Cluster.SetResource(), set, topology.AnnotationInBatches+"=true"), sc.Cluster.Plugin("sync"))
}

// finish ends a rollout, but not before Kubernetes reports that the rollout is over. With a closed
// partition Kubernetes recreates a lost pod with the revision that counts as current in Kubernetes.
func (sc Scope) finish() verdict {
	set := sc.Got.Set
	switch {
	case set.InBatches:
		return act(step.EndBatches{Component: sc.Want.Kind, Basis: sc.basis()})
	case !set.Completed():
		return wait(Gate{Component: sc.Want.Kind, Reason: RolloutRecorded, Want: "StatefulSet status shows the finished rollout"})
	case !set.Closed() && !set.Manual:
		return act(step.Close{Component: sc.Want.Kind, Basis: sc.basis(), Partition: set.Ordinals().End()})
	}
	return verdict{}
}

// restart returns the step that restarts a member, or the step before that. Without names goals that do not hold.
func (sc Scope) restart(m state.Member, without string) step.Step {
	if s, first := sc.inBatches(m); first {
		return s
	}
	if s, first := sc.claimsDeletedBefore(m); first {
		return s
	}
	r := step.Restart{Component: m.Kind, Member: m.Name, Ordinal: m.Ordinal, Basis: sc.basis(), From: sc.Got.Set.Partition, Without: without}
	r.Leaderless, r.Committed = sc.Unled(m), sc.All.PD.Committed
	r.Unlisted = sc.MayGetOtherVolumes(m)
	if m.Pod != nil {
		r.PodUID, r.Stuck, r.Ready = m.Pod.UID, !m.Up(), m.Pod.Ready
		r.FlushLog = sc.Want.FlushesLog && m.Up()
	}
	if sc.RestartsOutsideRollout(m) || sc.Got.Set.InBatches {
		r.Revision = sc.Got.Set.UpdateRevision
	}
	if _, leave := sc.All.OpenEviction(m.Database.ID); leave && m.Up() && m.Database.Evicting {
		r.StoreID, r.NotUp = m.Database.ID, sc.All.StoresNotUp()
	}
	return r
}

// upload updates ConfigMaps and the pod template. With a closed partition this restarts
// no pod. A pod template that mounts other volumes comes with their claim templates, see recreate.
func (sc Scope) upload() verdict {
	steps := applies(sc.Want.Kind, sc.Want.Config)
	if sc.Want.Set.Drift != desired.None && !sc.Want.OtherVolumes {
		steps = append(steps, step.Apply{Component: sc.Want.Kind, Object: sc.Want.Set})
	}
	return verdict{steps: steps}
}

// minReadyPassed waits until restarted pods have been Ready for as long as the user asks.
func (sc Scope) minReadyPassed() verdict {
	if sc.Want.MinReady == 0 {
		return verdict{}
	}
	next, _ := sc.Candidate()
	batch := sc.BatchOf(next)
	for _, m := range sc.Got.InSet() {
		if m.Pod == nil || sc.Got.Outdated(m) || state.Has(batch, m) {
			continue
		}
		ready := m.Pod.Since.Add(sc.Want.MinReady)
		if sc.All.At.Before(ready) {
			return wait(Gate{
				Component: m.Kind, Member: m.Name, Since: m.Pod.Since, Deadline: ready,
				Reason: MinReadyTime, Want: fmt.Sprintf("ready for %s", sc.Want.MinReady),
			})
		}
	}
	return verdict{}
}

// basis returns the StatefulSet that is decided on now.
func (sc Scope) basis() step.Basis {
	return step.Basis{UID: sc.Got.Set.UID, Generation: sc.Got.Set.Generation}
}

package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
)

// patience is how long a pod may be not Ready before a person is asked for
// help. A first start on a new node, with images to pull, takes minutes.
const patience = 10 * time.Minute

// repair brings members that are down to the wanted template before anything
// else is asked of the component. It costs no availability, and it is the only
// way out when the old template is what keeps them down; waiting for their
// health first would be waiting for ever.
func (sc Scene) repair(h hold) verdict {
	if h.rolling || sc.Got.Set.Manual {
		return verdict{}
	}
	if !anyDown(sc.Got.Running()) {
		return verdict{}
	}
	if v := sc.upload(); !v.idle() {
		return v
	}
	if m, ok := sc.candidate(); ok && isDown(m) && !m.Pod.Terminating {
		return act(sc.restart(m))
	}
	return verdict{}
}

// rollout replaces pods one by one, from the highest ordinal down.
func (sc Scene) rollout(p Profile, h hold) verdict {
	next, outdated := sc.candidate()
	if h.by != "" && (outdated || sc.drifted()) {
		return wait(Gate{
			Component: p.Kind, Want: "its turn to be rolled", held: true,
			Observed: fmt.Sprintf("%s comes first", h.by.Title()),
		})
	}
	if v := sc.upload(); !v.idle() {
		return v
	}
	if v := down(sc, sc.Got.Running(), nil); !v.idle() {
		return v
	}
	if !outdated {
		if sc.Got.Set.Partition < sc.Got.Set.Replicas && !sc.Got.Set.Manual {
			return act(Close{Component: p.Kind, Partition: sc.Got.Set.Replicas})
		}
		return verdict{}
	}
	if sc.Got.Set.Manual {
		return wait(Gate{
			Component: p.Kind, Member: next.Name, Want: "the pod is replaced", Blocked: true,
			Observed: "update strategy is OnDelete",
			Unblock:  "kubectl delete pod " + next.Name,
		})
	}
	if v := sc.ripe(); !v.idle() {
		return v
	}
	if v := sc.pursue(p.BeforeRestart, next); !v.idle() {
		return v
	}
	if sc.Got.Set.Partition <= next.Ordinal {
		return wait(Gate{Component: p.Kind, Member: next.Name, Want: "Kubernetes replaces the pod", Observed: "it is of the old revision"})
	}
	return act(sc.restart(next))
}

func (sc Scene) restart(m state.Member) Restart {
	return Restart{
		Component: m.Kind, Member: m.Name, Ordinal: m.Ordinal,
		From: sc.Got.Set.Partition, PodUID: m.Pod.UID, Stuck: isDown(m),
	}
}

// upload brings ConfigMaps and the pod template up to date. With the partition
// closed no pod restarts by it.
func (sc Scene) upload() verdict {
	steps := applies(sc.Want.Kind, sc.Want.Config)
	if sc.Want.Set.Drift != None {
		steps = append(steps, Apply{Component: sc.Want.Kind, Object: sc.Want.Set})
	}
	return verdict{steps: steps}
}

func (sc Scene) drifted() bool { return !sc.upload().idle() }

// ripe waits until restarted pods have been Ready for as long as the user asks.
func (sc Scene) ripe() verdict {
	for _, m := range sc.Got.Running() {
		if sc.Want.MinReady == 0 || sc.Got.Outdated(m) {
			continue
		}
		ready := m.Pod.Since.Add(sc.Want.MinReady)
		if sc.All.At.Before(ready) {
			return wait(Gate{
				Component: m.Kind, Member: m.Name, Since: m.Pod.Since, Deadline: ready,
				Want: fmt.Sprintf("ready for %s", sc.Want.MinReady),
			})
		}
	}
	return verdict{}
}

// down has a gate for each member that does not serve, but for the one that is
// about to be removed: nothing is taken away while a peer is missing.
func down(sc Scene, members []state.Member, except *state.Member) verdict {
	var v verdict
	for _, m := range members {
		if m.Up() || except != nil && m.Ordinal == except.Ordinal {
			continue
		}
		v.gates = append(v.gates, serving(sc, m))
	}
	return v
}

func serving(sc Scene, m state.Member) Gate {
	g := Gate{Component: m.Kind, Member: m.Name, Want: "serving", Observed: m.Trouble()}
	if m.Pod == nil {
		return g
	}
	if m.Pod.Ready {
		g.Source = FromDatabase
		return g
	}
	g.Since = m.Pod.Since
	g.Deadline = m.Pod.Since.Add(patience)
	g.Unblock = "kubectl describe pod " + m.Name
	g.Blocked = !sc.All.At.Before(g.Deadline)
	return g
}

// isDown: the member is known not to serve. A member that nobody could ask
// about is not down.
func isDown(m state.Member) bool {
	if m.Pod == nil || m.Up() {
		return false
	}
	return !m.Pod.Ready || m.Database.Presence != state.Unknown
}

func anyDown(members []state.Member) bool {
	for _, m := range members {
		if isDown(m) {
			return true
		}
	}
	return false
}

package sim

import (
	"slices"
	"strconv"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// lose takes the pod's host away for a while. Kubernetes reports the pod Ready until it
// misses the kubelet's heartbeats.
func (w *Model) lose(p *pod, seconds int64) {
	p.lost = w.t + seconds
	p.shown = w.t + min(40, seconds-1)
}

// loseSight lets the API server lose contact with all hosts, as after a pause of the API server. It
// reports no pod Ready, though all of them serve.
func (w *Model) loseSight(seconds int64) {
	w.note("fault: Kubernetes hears of no host for %d s", seconds)
	for k := range kinds {
		for _, p := range w.pods[k] {
			if p != nil {
				p.unseen = w.t + seconds
			}
		}
	}
}

// evicted is how long Kubernetes waits for a host before it deletes its pods, in seconds.
const evicted = 340

// loseForGood takes the pod's host away for good, with the disk that its claim is bound
// to. The pod is Terminating until a person deletes it by force, since no kubelet is left
// to report that it is gone. A new one cannot be scheduled while the claim is there.
func (w *Model) loseForGood(k kind, i int) {
	p := w.pods[k][i]
	p.lost, p.shown, p.evictAt = never, w.t+40, w.t+evicted
	if c := w.claims[k][i]; c != nil {
		c.lost = true
	}
}

// force deletes a pod by force, as a person does who knows that its host is gone.
func (w *Model) force(k kind, i int) {
	w.note("user: delete pod %s by force", w.names[k][i])
	w.pods[k][i] = nil
}

func (w *Model) loseHost() {
	if k, i, p := w.anyPod(); p != nil {
		seconds := w.between(30, 900)
		w.note("fault: the host of %s is lost for %d s", w.names[k][i], seconds)
		w.lose(p, seconds)
	}
}

// loseHostForGood loses one host for good, if no other host is lost. Without a majority data is
// lost, and no engine can help.
func (w *Model) loseHostForGood() {
	for k := range kinds {
		for i, p := range w.pods[k] {
			if c := w.claims[k][i]; p != nil && p.lost == never || c != nil && c.lost {
				return
			}
		}
	}
	k, i, p := w.anyPod()
	if p == nil || k.data() != topology.None && !w.spare(k, i) {
		return
	}
	w.note("fault: the host of %s is lost for good", w.names[k][i])
	w.loseForGood(k, i)
	if c := w.claims[k][i]; c != nil && w.t%2 == 0 {
		c.noNode = true
	}
}

// noteLostVolume adds to a member that its volume can be used only on a node that does not exist.
func (w *Model) noteLostVolume(k kind, m *state.Member) {
	i, _ := w.index(m.Kind, m.Name)
	c, p := w.claims[k][i], w.pods[k][i]
	if !w.noNode(k, i) || p == nil || p.terminating() {
		return
	}
	m.LostVolume = state.LostVolume{Name: "pvc-" + c.uid, Claim: c.name, Nodes: []string{LostNode}}
	m.Pod.Node, m.Pod.Problem = "", p.problem+"; "+m.LostVolume.String()
}

// LostNode is the label of hosts whose Node objects were deleted.
const LostNode = "node-deleted"

// spare reports whether the database has enough others without the member's data.
func (w *Model) spare(k kind, i int) bool {
	if k.data() == topology.Binlog {
		return false
	}
	if k.data() == topology.Raft {
		left := 0
		for _, m := range w.pd.members {
			if m.ordinal != i && m.started {
				left++
			}
		}
		return left >= w.pd.quorum()
	}
	others := 0
	for _, s := range w.stores {
		if s.k == k && s.ordinal != i && w.storeRuns(s) {
			others++
		}
	}
	return others >= 2
}

// delayHeartbeats delays the heartbeats of a store: it serves, and PD gets no report of
// that.
func (w *Model) delayHeartbeats() {
	if len(w.stores) == 0 {
		return
	}
	s := w.stores[w.rng.IntN(len(w.stores))]
	s.muffled = w.t + w.between(15, 120)
	w.note("fault: heartbeats of store %d are late until %s", s.id, clock(s.muffled))
}

// nodeOf returns the node of the pods with an ordinal.
func nodeOf(ordinal int) string { return "node-" + strconv.Itoa(ordinal) }

// maintain is the user beginning a maintenance of a node.
func (w *Model) maintain(node string) {
	w.note("user: maintenance start %s", node)
	w.cluster.Maintained = append(w.cluster.Maintained, topology.Maintenance{Node: node, By: "user", Since: w.Now()})
}

// endMaintenance is the user ending it.
func (w *Model) endMaintenance(node string) {
	w.note("user: maintenance stop %s", node)
	w.cluster.Maintained = slices.DeleteFunc(w.cluster.Maintained, func(m topology.Maintenance) bool { return m.Node == node })
}

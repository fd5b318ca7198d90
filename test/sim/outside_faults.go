package sim

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// BeginAt sets the time of a model in which nothing exists yet, in whole seconds.
func (w *Model) BeginAt(at time.Time) { w.t = int64(at.Sub(epoch) / time.Second) }

// Tick lets one second pass. It is for a tier that drives the model from outside.
func (w *Model) Tick() { w.tick() }

// BeginFaults lets the faults of the Options happen from now on.
func (w *Model) BeginFaults() { w.chaos = true }

// EndFaults ends all faults, also those that last. What only a person can repair stays broken.
func (w *Model) EndFaults() {
	w.chaos, w.away = false, 0
	w.note("calm")
	for k := range kinds {
		for _, p := range w.pods[k] {
			if p != nil {
				p.heal(w.t)
			}
		}
	}
	w.endMistakes()
	w.endSilence()
}

// GiveUpLost is a person who gives up what is lost for good: members on a host that does not come back, pods that have
// ended while their claims are being deleted, and stores whose claims are gone.
func (w *Model) GiveUpLost() {
	w.clear()
	w.deleteEnded()
	w.deleteLostStores()
}

// OffsetClocks sets the clocks of hosts wrong, as in random runs of one seed in four.
func (w *Model) OffsetClocks() { w.offsetClocks() }

// LoseHost takes the host of the pods with an ordinal away, with the disks of their claims, until RestoreHost.
// Kubernetes misses the host after 40 seconds, and deletes the pods of the host some minutes later.
func (w *Model) LoseHost(ordinal int) {
	for k := range kinds {
		if p := w.pods[k][ordinal]; p != nil {
			w.loseForGood(kind(k), ordinal)
		}
	}
}

// DeleteNode is a person who deletes the Node object of a host that is lost. Kubernetes then deletes the pods of the host
// for good.
func (w *Model) DeleteNode(ordinal int) {
	w.note("user: delete %s", nodeOf(ordinal))
	for k := range kinds {
		if c := w.claims[k][ordinal]; c != nil && c.lost {
			c.noNode = true
		}
		if p := w.pods[k][ordinal]; p != nil && p.lost > w.t {
			w.pods[k][ordinal] = nil
		}
	}
}

// RestoreHost brings a host back, with its disks. Its processes start again.
func (w *Model) RestoreHost(ordinal int) {
	for k := range kinds {
		if p := w.pods[k][ordinal]; p != nil && p.lost == never {
			p.lost = w.t
		}
		if c := w.claims[k][ordinal]; c != nil {
			c.lost, c.noNode = false, false
		}
	}
}

// BreakDisk ends the process of a member whose disk fails. The process does not start again until MendDisk.
func (w *Model) BreakDisk(component topology.Kind, ordinal int) {
	k := kindOf(component)
	p, c := w.pods[k][ordinal], w.claims[k][ordinal]
	if p == nil || c == nil {
		return
	}
	c.lost = true
	w.halt(p, 1)
}

// MendDisk repairs the disk of a member, with what is stored there.
func (w *Model) MendDisk(component topology.Kind, ordinal int) {
	if c := w.claims[kindOf(component)][ordinal]; c != nil {
		c.lost = false
	}
}

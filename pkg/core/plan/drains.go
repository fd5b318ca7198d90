package plan

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// DrainEnds is how long after the last request a drain has surely ended, since nobody continues it. The
// time of a new one must not begin with the old one.
const DrainEnds = 5 * time.Minute

// adoptDrains takes over drains that tidb-operator began and does not continue, since this process drives now.
// tidb-operator marks the pod when a drain begins, leaves the mark where it does not replace the pod, and writes
// nothing when a drain continues. So a mark that is older than a drain without requests lasts says nothing about now,
// and a drain begins again.
func adoptDrains(s state.Snapshot) verdict {
	var v verdict
	for _, m := range s.Groups[topology.TiCDC].Members {
		if m.Pod == nil || m.Pod.Terminating || m.Pod.DrainBegun.IsZero() {
			continue
		}
		next := step.AdoptDrain{Component: m.Kind, Member: m.Name, PodUID: m.Pod.UID}
		d, ours := s.Drain(m.Name)
		if begun := m.Pod.DrainBegun; s.At.Sub(begun) < DrainEnds && (!ours || d.PodUID != m.Pod.UID) {
			next.Since = begun
		}
		v.steps = append(v.steps, next)
	}
	return v
}

// endDrains deletes records of drains whose pod is gone. A record of a pod that is there may be of use.
func endDrains(c topology.Cluster, s state.Snapshot) verdict {
	var v verdict
	for _, d := range s.Drains {
		k, _, _ := c.Member(d.Member)
		m, _ := s.Groups[k].Member(d.Member)
		uid := ""
		if m.Pod != nil {
			uid = m.Pod.UID
		}
		if uid != d.PodUID {
			v.steps = append(v.steps, step.ForgetDrain{Component: k, Member: d.Member, PodUID: uid})
		}
	}
	return v
}

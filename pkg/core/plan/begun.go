package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// BegunInPD returns what a run has begun in PD and not ended, by the records of that. In a paused cluster no process
// goes on with it. Without a report a store would lead no regions for days, and nobody would know why. While PD is
// unknown, the records alone count.
func BegunInPD(c topology.Cluster, s state.Snapshot) []desired.Notice {
	var all []desired.Notice
	for _, e := range s.Evictions {
		m, seen := s.StoreOwner(e.StoreID)
		known := seen && s.PD.Known() && !s.PD.SchedulersUnknown
		if e.Foreign || !e.Ended.IsZero() || known && !m.Database.Evicting {
			continue
		}
		text := fmt.Sprintf("PD keeps region leaders off store %d since %s", e.StoreID, moment(e.Since))
		if !known {
			text = fmt.Sprintf("PD was asked at %s to keep region leaders off store %d, and may still do so", moment(e.Since), e.StoreID)
		}
		f := begun(c, storesOf(c, e.Member), e.Member, text+": a run began that for a restart or a removal, and the pause keeps it from going on")
		if f.Component != "" {
			f.Remedy = append(f.Remedy, remedy.Run("have the store lead regions again during the pause", c.Plugin("evict-leader", e.Member, "--stop")))
		}
		all = append(all, f)
	}
	for _, r := range s.Removals {
		m, seen := s.StoreOwner(r.StoreID)
		known := seen && s.PD.Known()
		if known && m.Database.State != state.StoreOffline {
			continue
		}
		text := fmt.Sprintf("PD moves the regions off store %d since %s, also during the pause", r.StoreID, moment(r.Since))
		if !known {
			text = fmt.Sprintf("PD was asked at %s to move the regions off store %d, and may still do so", moment(r.Since), r.StoreID)
		}
		all = append(all, begun(c, storesOf(c, r.Member), r.Member, text+": a run began its removal, and its pod and its data stay until the pause ends"))
	}
	return all
}

// begunInKubernetes returns what a run has begun in Kubernetes. A controller there restarts the pods above an open
// partition without asking PD, and replaces none that has no StatefulSet.
func begunInKubernetes(w desired.State, s state.Snapshot) []desired.Notice {
	var all []desired.Notice
	for _, g := range w.Groups {
		got := s.Groups[g.Kind]
		if g.Suspend {
			continue
		}
		if names := orphans(got); !got.Set.Exists && len(names) > 0 {
			all = append(all, begun(w.Cluster, g.Kind, "", fmt.Sprintf("StatefulSet %s does not exist, so that Kubernetes does not replace these pods when they end: %s",
				w.Cluster.SetName(g.Kind), strings.Join(names, ", "))))
		}
		for _, m := range got.InSet() {
			if got.Set.Exists && !got.Set.OnDelete() && m.Ordinal >= got.Set.Partition && m.Pod != nil && !m.Pod.Terminating && got.Outdated(m) {
				all = append(all, begun(w.Cluster, g.Kind, m.Name, fmt.Sprintf(
					"Kubernetes restarts the pod during the pause: the partition of StatefulSet %s is open for it, and it has an older template",
					w.Cluster.SetName(g.Kind))))
			}
		}
	}
	return all
}

func begun(c topology.Cluster, k topology.Kind, member, text string) desired.Notice {
	return desired.Notice{
		Reason: event.BegunBeforePause, Component: k, Member: member, Text: text,
		Remedy: remedy.Remedy{remedy.Run("to go on, end the pause", c.Plugin("resume"))},
	}
}

// orphans returns the names of pods that do not terminate. The caller has seen that there is no StatefulSet.
func orphans(got state.Group) []string {
	var names []string
	for _, m := range got.Members {
		if m.Pod != nil && !m.Pod.Terminating {
			names = append(names, m.Name)
		}
	}
	return names
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

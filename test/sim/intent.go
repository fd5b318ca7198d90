package sim

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// wanted returns the objects that the user's intent asks for, compared with what exists, as package
// render does.
func (w *Model) wanted() desired.State {
	cluster := w.cluster
	cluster.Paused, cluster.Pause = w.Intent.Paused, w.pauseRecord()
	cluster.DDLPause.Recorded = w.ddl.recorded
	out := desired.State{
		Cluster: cluster,
		Objects: []desired.Object{w.wantedAdvice()},
	}
	for _, k := range w.in() {
		name := kinds[k]
		g := desired.Group{
			Group: topology.Group{
				Kind: name, Replicas: w.Intent.Replicas[k], Slots: w.ordinalsIn(w.Intent.Slots[k]), Version: w.versionOf(k, w.Intent.Template[k]), PausesDDL: w.pausesDDL(k),
				Manual: w.Intent.Manual[k], Suspend: w.Intent.Suspend[k], MinReady: w.MinReady, Volumes: w.volumes(k),
				Failures: w.failures[k], MaxFailures: maxFailures, Recover: w.Intent.Recover,
				FirstPassword: w.asksPassword(k), Restarts: w.namedOf(k), Replacements: w.replacedOf(k),
				Held: w.Intent.Held[k], Canary: w.Intent.Canary[k],
			},
			Template: w.template(k), Spare: w.spareOf(k),
			Services: []desired.Object{{Kind: "Service", Name: w.cluster.PeerService(name)}},
			Config:   []desired.Object{{Kind: "ConfigMap", Name: w.cluster.SetName(name)}},
			Lacks:    w.lacks(k),
			Set:      desired.Object{Kind: "StatefulSet", Name: w.cluster.SetName(name)},
		}
		if k.data() == topology.Store && w.EvictTimeout > 0 {
			g.EvictTimeout = &w.EvictTimeout
		}
		g.Binlog = w.Binlog && w.Pump > 0
		if drains[k] {
			g.DrainTimeout = w.DrainTimeout
		} else if k.data() != topology.Raft {
			g.ScaleOut, g.ScaleIn = w.ScaleOut, w.ScaleIn
		}
		if !w.services[k] {
			g.Services[0].Drift = desired.Missing
		}
		if a := w.newAdvice(); k.data() == topology.Raft && !a.cluster {
			g.Founders = a.founders.replicas
		}
		switch w.config[k] {
		case "":
			g.Config[0].Drift = desired.Missing
		case g.Template:
		default:
			g.Config[0].Drift = desired.Differs
		}
		switch s := &w.sets[k]; {
		case !s.exists:
			g.Set.Drift = desired.Missing
		case s.applied() != g.Template || s.byHand() != g.Manual:
			g.Set.Drift = desired.Differs
		}
		if w.Mounts {
			w.addMounts(k, &g)
		}
		g.PutBack = w.putBack(k)
		g.Set.Record, g.Set.Recorded = w.wantedRecord(g.Template), w.records[k]
		g.Config[0].Record, g.Config[0].Recorded = g.Set.Record, g.Set.Recorded
		out.Groups = append(out.Groups, g)
	}
	return out
}

// groupOf returns what is wanted of a component.
func groupOf(wanted desired.State, k kind) desired.Group {
	g, _ := wanted.Group(kinds[k])
	return g
}

func (w *Model) anyPodOf(k kind) bool {
	for _, p := range w.pods[k] {
		if p != nil && !p.terminating() {
			return true
		}
	}
	return false
}

// partlyUsed reports whether some of the first PD members have a claim already and others
// do not. With data on the claims they are a cluster, and the others must not bootstrap another.
func (w *Model) partlyUsed() bool {
	used := 0
	for i := range w.Intent.members(pd).each() {
		if w.claims[pd][i] != nil {
			used++
		}
	}
	return used > 0 && used < w.Intent.Replicas[pd]
}

// Scale is the user changing a number of replicas.
func (w *Model) Scale(k topology.Kind, replicas int) {
	w.note("user: scale %s to %d", k.Title(), replicas)
	w.Intent.Replicas[kindOf(k)] = replicas
}

// Upgrade is the user changing the pod template of components, of all if none is named.
func (w *Model) Upgrade(template string, only ...topology.Kind) {
	if len(only) == 0 {
		only = w.lastOf(0)
	}
	for _, k := range only {
		w.note("user: change %s to %s", k.Title(), template)
		wanted := w.withMounts(kindOf(k), template)
		w.Intent.Template[kindOf(k)] = wanted
		w.asked[kindOf(k)][wanted] = true
	}
}

// Manual is the user changing the update strategy of a component to OnDelete, or
// back.
func (w *Model) Manual(k topology.Kind) {
	m := &w.Intent.Manual[kindOf(k)]
	*m = !*m
	w.note("user: OnDelete for %s: %t", k.Title(), *m)
}

// Suspend is the user suspending exactly these components.
func (w *Model) Suspend(these ...topology.Kind) {
	w.note("user: suspend %v", these)
	w.Intent.Suspend = [components]bool{}
	for _, k := range these {
		w.Intent.Suspend[kindOf(k)] = true
	}
}

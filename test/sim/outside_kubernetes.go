package sim

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// WrittenSet is the spec of a StatefulSet as somebody has written it.
type WrittenSet struct {
	UID        string
	Generation int64
	Replicas   int
	Slots      []int // ordinals without a member
	Partition  int
	Size       int // of each volume, in Gi
	Class      int // of each volume
	// Mounts are the volumes beside the volume with the data, and where pods mount them, as in "wal=/wal,log=/log".
	Mounts     string
	Attributes string // the VolumeAttributesClass of each volume
	Template   string
	Manual     bool // OnDelete
	InBatches  bool // because a run of the engine restarts the pods in batches
	Ordered    bool // OrderedReady
}

// WriteSet writes a StatefulSet. The controller sees the write some seconds later. Another UID makes a new StatefulSet.
// The text after the first "-" in the name of a template is the flaw of the template.
func (w *Model) WriteSet(component topology.Kind, written WrittenSet) {
	k := kindOf(component)
	s := &w.sets[k]
	all := w.written(written)
	if s.exists && s.uid == written.UID && int64(s.generation) == written.Generation && s.spec.slots == all.slots {
		return
	}
	w.judgeSetWritten(component, written)
	spec := setSpec{
		members: all, partition: written.Partition, size: written.Size, class: written.Class, mounts: mounts(written.Mounts), attributes: written.Attributes, template: written.Template,
		manual: written.Manual, batches: written.InBatches,
	}
	if s.exists && s.uid != written.UID {
		w.orphan(k)
	}
	if created := !s.exists; created {
		w.change(s, spec)
		s.fresh = true
	} else if s.spec == spec { // a field has changed that the model does not have
		s.syncAt = w.t + w.between(1, 3)
	} else {
		w.change(s, spec)
	}
	s.uid, s.generation, s.record, s.insisted = written.UID, int(written.Generation), "", false
	w.Ordered[k] = written.Ordered
	w.writes++
}

// written returns the members of a StatefulSet that was written.
func (w *Model) written(s WrittenSet) members {
	return members{min(s.Replicas, limit), w.slotsAt(s.Slots)}
}

// NameTemplate gives the pod template another name that a person has just written into a StatefulSet.
func (w *Model) NameTemplate(component topology.Kind, name string) {
	w.sets[kindOf(component)].spec.template = name
}

// DeleteSet deletes a StatefulSet and its pods. The set is there until its pods have gone.
func (w *Model) DeleteSet(component topology.Kind) {
	s := &w.sets[kindOf(component)]
	if s.exists && !s.leaving {
		w.judgeSetDeleted(component)
		s.leaving = true
		w.tellable[kindOf(component)] = s.spec.members
		w.writes++
	}
}

// OrphanSet deletes a StatefulSet without its pods.
func (w *Model) OrphanSet(component topology.Kind) {
	if k := kindOf(component); w.sets[k].exists {
		w.orphan(k)
		w.writes++
	}
}

// Has reports whether Kubernetes makes a pod of an ordinal for the StatefulSet.
func (s WrittenSet) Has(ordinal int) bool { return s.Ordinals().Has(ordinal) }

// Ordinals returns the ordinals of the pods that Kubernetes makes for the StatefulSet.
func (s WrittenSet) Ordinals() topology.Ordinals {
	return topology.Ordinals{Count: s.Replicas, Slots: s.Slots}
}

// ShownSet is what the StatefulSet controller reports.
type ShownSet struct {
	Exists   bool
	UID      string
	Leaving  bool // it was deleted, and its pods are there
	Observed int64
	Spec     WrittenSet // what is written: a fault may have changed it
	Current  string     // revisions
	Update   string
}

// ShownSet returns the state of a component's StatefulSet.
func (w *Model) ShownSet(component topology.Kind) ShownSet {
	k := kindOf(component)
	s := &w.sets[k]
	return ShownSet{
		Exists: s.exists, UID: s.uid, Leaving: s.leaving, Observed: int64(s.observed), Current: s.current, Update: s.update,
		Spec: WrittenSet{
			UID: s.uid, Generation: int64(s.generation), Replicas: s.spec.replicas, Slots: s.spec.slots.list(), Partition: s.spec.partition, Size: s.spec.size, Class: s.spec.class, Mounts: string(s.spec.mounts), Attributes: s.spec.attributes,
			Template: s.spec.template, Manual: s.spec.manual, InBatches: s.spec.batches, Ordered: w.Ordered[k],
		},
	}
}

// ShownPod is a pod as Kubernetes shows it.
type ShownPod struct {
	Ordinal     int
	UID         string
	Revision    string
	Made        time.Time
	Node        string // "" while no node takes it
	Ready       bool
	Since       time.Time // when Ready last changed, or when it was asked to end
	Terminating bool
	Ended       bool // its phase is final
	Ran         bool // its container has started at least once
	Running     bool // by the last report of its kubelet
	Started     time.Time
	Restarts    int
	LastStarted time.Time // of the run before this one; zero without one
	LastEnded   time.Time
	Problem     string
	// Ahead is how far the clock of its host is ahead of that of the API server.
	Ahead time.Duration
	// Unheard: Kubernetes gets no report from the host.
	Unheard bool
	// EvictionBegun and DrainBegun are marks of tidb-operator.
	EvictionBegun time.Time
	DrainBegun    time.Time
}

// ShownPods returns the pods of a component, in the order of their ordinals.
func (w *Model) ShownPods(component topology.Kind) []ShownPod {
	k := kindOf(component)
	var all []ShownPod
	for i, p := range w.pods[k] {
		if p != nil {
			all = append(all, w.shownPod(k, i, p))
		}
	}
	return all
}

func (w *Model) shownPod(k kind, i int, p *pod) ShownPod {
	out := ShownPod{
		Ordinal: i, UID: p.uid, Revision: p.revision, Made: w.at(p.made), Node: nodeOf(i), Ready: p.ready, Since: w.at(p.since),
		Terminating: p.terminating(), Ended: p.ended, Ran: p.ran, Running: w.reportedRunning(p), Restarts: p.restarts,
		Problem: p.problem, Ahead: time.Duration(w.clocks[k][i]) * time.Second, Unheard: w.unheard(p),
		EvictionBegun: p.evictionBegun, DrainBegun: p.drainBegun,
	}
	if c := w.claims[k][i]; c != nil && c.lost && !p.ran {
		out.Node = ""
	}
	if p.started != 0 {
		out.Started = w.at(p.started)
	}
	if p.last[1] != 0 {
		out.LastStarted, out.LastEnded = w.at(p.last[0]), w.at(p.last[1])
	}
	return out
}

// unheard reports whether Kubernetes gets no reports from the host of a pod, and knows that. A host of which Kubernetes
// has an old report counts as unheard.
func (w *Model) unheard(p *pod) bool {
	return p.lost > w.t && w.t >= p.shown || p.unseen > w.t || p.unreported > w.t && !p.ended
}

// DeletePod deletes the pod with a UID. With force the pod is gone at once, whatever its host does.
func (w *Model) DeletePod(uid string, force bool) {
	w.judgePodDeleted(uid)
	for k := range kinds {
		for i, p := range w.pods[k] {
			switch {
			case p == nil || p.uid != uid:
			case force:
				w.force(kind(k), i)
			case !p.terminating():
				w.remove(p)
				w.writes++
			}
		}
	}
}

// MarkPod writes the marks of tidb-operator on the pod with a UID. Zero times take them off.
func (w *Model) MarkPod(uid string, evictionBegun, drainBegun time.Time) {
	for k := range kinds {
		for _, p := range w.pods[k] {
			if p != nil && p.uid == uid {
				p.evictionBegun, p.drainBegun = evictionBegun, drainBegun
			}
		}
	}
}

// ShownClaim is a PersistentVolumeClaim as Kubernetes shows it.
type ShownClaim struct {
	Ordinal     int
	Name        string
	UID         string
	Marked      bool
	Terminating bool
	Requested   int // in Gi
	Capacity    int
	// Attributes is the VolumeAttributesClass that the claim asks for, Modified the one that its volume has. Modifying is
	// what Kubernetes reports until they are the same, as in InProgress.
	Attributes, Modified, Modifying string
	// NoNode: the volume can be used only on a node that does not exist.
	NoNode bool
}

// ShownClaims returns the claims of a component, in the order of their ordinals.
func (w *Model) ShownClaims(component topology.Kind) []ShownClaim {
	var all []ShownClaim
	for i, c := range w.claims[kindOf(component)] {
		if c != nil {
			all = append(all, ShownClaim{
				Ordinal: i, Name: c.name, UID: c.uid, Marked: c.marked, Terminating: c.goneAt != never, Requested: c.requested,
				Capacity: c.capacity, Attributes: c.attributes, Modified: c.modified, Modifying: c.modifying(w.t), NoNode: c.lost && c.noNode,
			})
		}
	}
	return all
}

// claimOf returns the claim with a UID, nil when there is none.
func (w *Model) claimOf(uid string) *claim {
	for k := range kinds {
		if i := slices.IndexFunc(w.claims[k][:], func(c *claim) bool { return c != nil && c.uid == uid }); i >= 0 {
			return w.claims[k][i]
		}
	}
	return nil
}

// MarkClaim marks a claim as left over, or takes the mark off.
func (w *Model) MarkClaim(uid string, marked bool) {
	if c := w.claimOf(uid); c != nil && c.marked != marked {
		c.marked, c.markedLate = marked, false
		c.changes++
		w.writes++
	}
}

// GrowClaim asks for a larger volume, of a size in Gi.
func (w *Model) GrowClaim(uid string, size int) {
	if c := w.claimOf(uid); c != nil && c.requested < size {
		c.requested, c.growAt = size, w.t+w.between(20, 600)
		w.writes++
	}
}

// ModifyClaim asks for another VolumeAttributesClass of a volume.
func (w *Model) ModifyClaim(uid, class string) {
	if c := w.claimOf(uid); c != nil && c.attributes != class {
		w.modify(c, class)
		w.writes++
	}
}

// DeleteClaim deletes a claim. It is there until no pod uses it.
func (w *Model) DeleteClaim(uid string) {
	if c := w.claimOf(uid); c != nil && c.goneAt == never {
		w.judgeClaimDeleted(uid)
		c.goneAt = w.t + w.between(2, 20)
		w.writes++
	}
}

// WrittenAdvice is what the ConfigMap says from which a PD pod without data reads what to do.
type WrittenAdvice struct {
	Founders int   // how many first members bootstrap a cluster
	Cluster  bool  // there is a cluster
	Judged   bool  // PD has reported which founders have yet to start
	Late     []int // which ones
	Join     bool  // there are members to join
}

// WriteAdvice is a write of that ConfigMap.
func (w *Model) WriteAdvice(written WrittenAdvice) {
	a := advice{there: true, founders: members{replicas: written.Founders}, cluster: written.Cluster, judged: written.Judged, join: written.Join}
	for _, i := range written.Late {
		if i < limit {
			a.late[i] = true
		}
	}
	if a != w.advice {
		w.advise(a)
		w.writes++
	}
}

// DeleteAdvice deletes that ConfigMap.
func (w *Model) DeleteAdvice() {
	if w.advice.there {
		w.advise(advice{})
	}
}

// Asked is what the user wants of one component.
type Asked struct {
	Replicas int
	Slots    []int  // ordinals without a member
	Template string // "" where it is not known
	Size     int    // of each volume, in Gi
	// Attributes is the VolumeAttributesClass of each volume, "" for any.
	Attributes string
	Manual     bool
	Suspend    bool
	Held       bool
	Canary     int
	Failures   []topology.Failure
}

// Ask is the user who changes what is wanted of a component.
func (w *Model) Ask(component topology.Kind, a Asked) {
	k, in := kindOf(component), &w.Intent
	in.Replicas[k], in.Size[k], in.Manual[k], in.Suspend[k], in.Held[k], in.Canary[k] = a.Replicas, a.Size, a.Manual, a.Suspend, a.Held, a.Canary
	in.Slots[k], in.Attributes[k] = w.slotsAt(a.Slots), a.Attributes
	w.failures[k] = slices.Clone(a.Failures)
	if a.Template != "" {
		in.Template[k] = a.Template
		w.asked[k][asked(a.Template)] = true
	}
}

// AskCluster is the user who changes what is wanted of the cluster as a whole. Or the plugin records something there.
func (w *Model) AskCluster(c topology.Cluster) {
	in := &w.Intent
	in.Paused, in.PausedUntil, in.Recover = c.Paused, 0, false
	if until := c.Pause.Until; c.Paused && !until.IsZero() {
		in.PausedUntil = int64(until.Sub(epoch) / time.Second)
	}
	w.recorded, _ = strconv.ParseUint(c.Source.Status.ClusterID, 10, 64)
	w.ddl.recorded = c.DDLPause.Recorded
	w.cluster.Maintained, w.cluster.Reclaims, w.Reclaims = slices.Clone(c.Maintained), c.Reclaims, c.Reclaims
	w.named, w.replaced, w.MinReady = map[string]topology.MemberRestart{}, map[string]topology.MemberReplacement{}, 0
	for _, g := range c.Groups {
		in.Recover = in.Recover || g.Recover
		maps.Copy(w.named, g.Restarts)
		maps.Copy(w.replaced, g.Replacements)
		w.MinReady = max(w.MinReady, g.MinReady)
		if kindOf(g.Kind).leads() {
			w.ScaleOut, w.ScaleIn, w.EvictTimeout = g.ScaleOut, g.ScaleIn, 0
			if g.EvictTimeout != nil {
				w.EvictTimeout = *g.EvictTimeout
			}
		}
	}
}

// Components returns the components that the model's cluster has, in dependency order.
func (w *Model) Components() []topology.Kind {
	var all []topology.Kind
	for _, k := range w.in() {
		all = append(all, kinds[k])
	}
	return all
}

// NodeOf returns the node of the pods with an ordinal.
func NodeOf(ordinal int) string { return nodeOf(ordinal) }

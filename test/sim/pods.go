package sim

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// set is a StatefulSet: what was asked of it, and what its controller has seen.
type set struct {
	exists     bool
	uid        string
	made       int64
	leaving    bool // it was deleted and waits for its pods to be gone
	fresh      bool // its replicas and slots have not changed since it was created
	late       bool // a request that came late has created it, as was wanted when the request was decided
	spec       setSpec
	generation int
	// record is the template that was applied last where the live one differs, else "". insisted: a
	// webhook has changed it in our own write, so that it is not put back.
	record   string
	insisted bool

	seen     setSpec // what the controller works with
	observed int     // the generation it has seen
	syncAt   int64   // when it will see the newest one

	current, update string // revisions
}

type setSpec struct {
	members
	partition   int // the lowest number of a member that is of the newest revision
	size, class int // of the claims of new pods
	template    string
	mounts      mounts // of the volumes beside the data
	attributes  string // the VolumeAttributesClass of the claims of new pods
	manual      bool   // OnDelete
	batches     bool   // because a run of the engine restarts the pods in batches
}

// change is a write of the StatefulSet's spec.
func (w *Model) change(s *set, spec setSpec) {
	if s.exists && s.spec == spec {
		return
	}
	if !s.exists {
		s.uid, s.made = w.uid(), w.t
	}
	s.fresh = s.fresh && s.spec.members == spec.members
	s.exists, s.spec = true, spec
	s.generation++
	s.syncAt = w.t + w.between(1, 3)
}

// pod is a pod and the process in it.
type pod struct {
	uid         string
	revision    string
	flaw        string
	startAt     int64 // when the container starts next
	running     bool
	started     int64
	ran         bool
	readyAt     int64
	ready       bool
	since       int64 // when ready last changed
	goneAt      int64 // never unless it is terminating
	crashes     int64 // in a row; the kubelet waits longer and longer
	firstCrash  int64 // when the first one of the row was
	made        int64
	restarts    int
	last        [2]int64 // when the run before this one began and ended
	problem     string
	surplus     bool   // a StatefulSet that was deleted without its pods was to delete it
	drains      int64  // how long its process keeps connections before it ends
	lost        int64  // its host is lost until then, never if it is lost for good
	evictAt     int64  // when Kubernetes gives a host up that is lost for good
	shown       int64  // until when the API takes a lost pod for Ready
	unseen      int64  // until when Kubernetes gets no reports from its host, which runs
	unreported  int64  // until when the API has an old report of its kubelet, that its container does not run
	ended       bool   // its phase is final
	endsAt      int64  // when its process ends then
	unreachable int64  // until when no request through its kubelet succeeds
	distrusts   int64  // until when it does not accept our certificate
	closing     bool   // its Pump was asked to close
	closed      bool   // its Pump has ended, and its container has not
	mounts      mounts // the volumes that it was made with
	refuses     int64  // until when its status port answers with errors
	expired     span   // while nobody accepts its certificate
	advice      advice // what a PD without data read when it started
	joined      int64  // when a PD process has become a part of the cluster
	// evictionBegun is tidb-operator's mark on the pod of a store that it evicts region leaders from. It is zero when
	// there is none.
	evictionBegun time.Time
	drainBegun    time.Time // the same on the pod of a capture that it drains
}

func (p *pod) terminating() bool { return p.goneAt != never }

// works reports whether the process runs and can serve.
func (w *Model) works(p *pod) bool {
	return p != nil && p.running && !p.terminating() && !p.ended && p.lost <= w.t && !p.expired.has(w.t) && (p.flaw == "" || p.flaw == frail || p.flaw == statusless)
}

// claim is a PersistentVolumeClaim with the data on it.
type claim struct {
	name    string
	mounted []string // its name, as a pod lists it
	uid     string
	made    int64
	marked  bool
	goneAt  int64  // never unless it is terminating
	data    uint64 // the PD member or the store that the data belongs to, 0 while empty
	label   uint64 // the member or the store that it is labelled with
	lost    bool   // it is bound to a host that is lost for good
	noNode  bool   // and the Node object of that host was deleted

	requested, capacity  int    // in Gi
	class                int    // the storage class
	attributes, modified string // the VolumeAttributesClass that it asks for, and the one that its volume has
	modifyAt             int64  // when the storage has made the change
	growAt               int64  // when the storage has made it larger
	// markedLate: a request that came late has marked it. Nothing is deleted for a mark alone: PD is asked once more.
	markedLate bool
	changes    int // of the mark, for which the version stands
}

// control is one turn of the StatefulSet controller.
func (w *Model) control(k kind) {
	s := &w.sets[k]
	if !s.exists {
		return
	}
	if s.leaving {
		w.collect(k)
		return
	}
	if (s.observed != s.generation || s.seen != s.spec) && w.t >= s.syncAt { // slots are an annotation, which has no generation
		s.sync()
	}
	if s.observed == 0 {
		return
	}
	if w.Ordered[k] {
		if !w.inOrder(k) {
			return
		}
	} else if !w.atOnce(k) {
		return
	}
	if !s.seen.manual {
		w.roll(k)
		w.complete(k)
	}
}

// dropClaims deletes the claims that are to go and that no pod uses, also without a StatefulSet.
func (w *Model) dropClaims(k kind) {
	for i, c := range w.claims[k] {
		if c != nil && w.t >= c.goneAt && w.pods[k][i] == nil {
			w.claims[k][i] = nil
		}
	}
}

// atOnce does what Parallel asks for: it creates all missing pods, and deletes all surplus ones. It reports whether it
// has got to all of them.
func (w *Model) atOnce(k kind) bool {
	s := &w.sets[k]
	end, all := w.processed(k)
	for i, p := range w.pods[k][:end] {
		switch {
		case s.seen.has(i) && w.replacesEnded(p):
		case p != nil && !s.seen.has(i) && !p.terminating():
			w.stray(k, i)
			w.remove(p)
		case p == nil && s.seen.has(i):
			w.create(k, i)
		}
	}
	return all
}

// inOrder does what OrderedReady asks for, before anything else. It creates a pod when all earlier pods are Ready, and
// then deletes surplus pods, a single pod at a time from the top. It reports whether nothing of that is left to do. A
// pod that does not become Ready is never replaced, whatever the new template is.
func (w *Model) inOrder(k kind) bool {
	s := &w.sets[k]
	for i := range s.seen.each() {
		p := w.pods[k][i]
		if p == nil {
			w.create(k, i)
		}
		if p == nil || !p.ready || p.terminating() {
			w.replacesEnded(p)
			return false
		}
		if p.lacks(s.seen.mounts) {
			return false // see processed
		}
	}
	for i := limit - 1; i >= 0; i-- {
		if p := w.pods[k][i]; p != nil && !s.seen.has(i) {
			if !p.terminating() {
				w.stray(k, i)
				w.remove(p)
			}
			return false
		}
	}
	return true
}

// sync shows the newest spec to the controller.
func (s *set) sync() {
	s.seen, s.observed = s.spec, s.generation
	s.update = s.seen.template
	if s.current == "" {
		s.current = s.update
	}
}

func (w *Model) remove(p *pod) {
	if p.ended { // the API server deletes it at once
		p.goneAt, p.since = w.t, w.t
		return
	}
	p.goneAt, p.since = w.t+w.between(3, 15), w.t
	if p.running {
		p.goneAt += p.drains
	}
}

// revisionOf returns the revision of a pod that is created now.
func (w *Model) revisionOf(k kind, i int) string {
	s := &w.sets[k]
	if !s.seen.manual && i < s.seen.partition {
		return s.current
	}
	return s.update
}

func (w *Model) create(k kind, i int) {
	revision := w.revisionOf(k, i)
	if flaw(revision) == refused {
		return
	}
	if k.data() != topology.None || w.sets[k].seen.size > 0 {
		c := w.claims[k][i]
		if c != nil && c.goneAt != never {
			return // the controller waits for the claim to be gone
		}
		if c == nil {
			name := fmt.Sprintf("%s-%s", VolumeOf(kinds[k]), w.names[k][i])
			w.claims[k][i] = &claim{name: name, mounted: []string{name}, uid: w.uid(), made: w.t, goneAt: never, requested: w.sets[k].seen.size, capacity: w.sets[k].seen.size, class: w.sets[k].seen.class, attributes: w.sets[k].seen.attributes, modified: w.sets[k].seen.attributes}
		}
	}
	w.pods[k][i] = &pod{
		uid: w.uid(), revision: revision, flaw: flaw(revision), startAt: w.t + w.between(2, 20), since: w.t, made: w.t, goneAt: never,
		problem: "ContainerCreating", drains: w.drain(k), mounts: w.sets[k].seen.mounts,
	}
}

// roll replaces at most one pod that is not of the update revision.
func (w *Model) roll(k kind) {
	s := &w.sets[k]
	if w.KeepStuck {
		for i := range s.seen.each() {
			if p := w.pods[k][i]; p == nil || !p.ready || p.terminating() {
				return
			}
		}
	}
	for i := range s.seen.fromTop() {
		if i < s.seen.partition {
			return
		}
		p := w.pods[k][i]
		if p == nil {
			return
		}
		if p.revision != s.update && !p.terminating() {
			w.remove(p)
			return
		}
		if !p.ready || p.terminating() {
			return
		}
	}
}

// complete moves the current revision on when every pod has the new one. Until
// then a pod below the partition comes back with the old one.
func (w *Model) complete(k kind) {
	s := &w.sets[k]
	for i := range s.seen.each() {
		if p := w.pods[k][i]; p == nil || !p.ready || p.revision != s.update {
			return
		}
	}
	s.current = s.update
}

// run is one turn of the kubelets.
func (w *Model) run(k kind) {
	for i, p := range w.pods[k] {
		if p == nil {
			continue
		}
		switch {
		case w.t >= p.goneAt && (p.lost <= w.t || p.ended):
			w.pods[k][i] = nil
		case p.lost > w.t:
			if p.shown == w.t {
				w.setReady(p, false, "node is not ready")
			}
			if p.evictAt == w.t && !p.terminating() {
				p.goneAt, p.since = w.t, w.t
			}
		case p.lost != 0:
			p.lost = 0
			w.halt(p, 1)
		case p.ended, p.unseen > w.t:
			w.unready(p)
		case !p.running:
			if w.uncertified(k) {
				p.problem = "CrashLoopBackOff"
				continue
			}
			w.start(p, w.claims[k][i])
		case !p.ready && w.t >= p.readyAt && p.unreported <= w.t:
			w.setReady(p, true, "")
		case w.exits(p):
			w.exit(p)
		}
	}
}

// exit ends a process that the kubelet starts again, after a wait that grows with each crash of a row.
func (w *Model) exit(p *pod) {
	if p.crashes == 0 {
		p.firstCrash = w.t
	}
	p.crashes++
	w.halt(p, min(300, int64(10)<<min(p.crashes, 6)))
}

// crashLoops reports whether a process ends half a minute after each start, and has done so three times.
func (p *pod) crashLoops() bool { return p.flaw == frail && p.crashes >= 3 }

// exits reports whether the process ends by itself now.
func (w *Model) exits(p *pod) bool {
	age := w.t - p.started
	return p.flaw == crashing && age >= 8 || p.flaw == frail && age >= 25
}

func (w *Model) start(p *pod, c *claim) {
	if p.terminating() || w.t < p.startAt {
		return
	}
	if c != nil && c.lost {
		p.problem = "Unschedulable: the node of its volume is gone"
		return
	}
	if p.flaw == noImage {
		p.problem = "ImagePullBackOff"
		return
	}
	if p.ran {
		p.restarts++
	}
	p.advice = w.advised(p)
	p.running, p.ran, p.started, p.joined, p.expired = true, true, w.t, 0, span{}
	p.closing, p.closed = false, false
	p.readyAt = w.t + w.between(2, 8)
	p.problem = ""
}

// halt ends the process; the kubelet starts it again after a while.
func (w *Model) halt(p *pod, after int64) {
	if p.running {
		p.last = [2]int64{p.started, w.t}
	}
	p.running = false
	p.startAt = w.t + after
	w.setReady(p, false, "CrashLoopBackOff")
}

func (w *Model) setReady(p *pod, ready bool, problem string) {
	if p.ready != ready {
		p.ready, p.since = ready, w.t
	}
	p.problem = problem
}

package sim

// A process is suspended between two requests, as on a laptop that sleeps. The next request arrives
// minutes or hours later, and nothing but the preconditions of the request protects the cluster.

// Standing is a process that is suspended before a request.
type Standing struct {
	seen        sighting
	generations [components]int
}

// StandStill returns the process that has observed the cluster last, with what it knows.
func (w *Model) StandStill() *Standing {
	s := &Standing{seen: w.seen}
	for k := range kinds {
		s.generations[k] = w.sets[k].generation
	}
	return s
}

// GoOn sends a request of a process that has stood still, and judges the request by what that process has observed. The
// request must change no StatefulSet that somebody else has changed meanwhile, and delete no pod of such a StatefulSet.
// In a pod that has ended nothing runs, so that this pod may be deleted.
func (w *Model) GoOn(s *Standing, request func()) {
	seen, found, pods := w.seen, w.sets, w.lasting()
	w.seen = s.seen
	request()
	w.seen = seen
	for k := range kinds {
		if is := &w.sets[k]; found[k].exists && found[k].generation != s.generations[k] {
			if is.generation != found[k].generation || is.uid != found[k].uid || is.leaving != found[k].leaving {
				w.broke("late", "a late request takes effect in the rollout of %s", kinds[k].Title())
			}
			w.judgeDeletedLate(kind(k), pods[k])
		}
	}
}

// judgeDeletedLate checks that of the pods with these UIDs none is being deleted now in which a process runs.
func (w *Model) judgeDeletedLate(k kind, before uids) {
	for i, p := range w.pods[k] {
		if p != nil && p.uid == before[i] && p.terminating() && !p.ended {
			w.broke("late", "a late request deletes %s in the rollout of another process", w.names[k][i])
		}
	}
}

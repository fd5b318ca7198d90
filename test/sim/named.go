package sim

import (
	"math/rand/v2"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// drawUsers draws what users do besides changes of the spec.
func drawUsers(o *Options) {
	drawPassword(o)
	drawNamed(o)
	drawReplacements(o)
	drawByName(o)
}

// drawNamed has users name members to be restarted, in one run of four. That is drawn separately, so that
// the other runs stay as they are.
func drawNamed(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 15))
	if rng.IntN(4) == 0 {
		o.Faults.Named = pick(rng, 1./200, 1./60)
	}
}

// drawByName has users restart members by their names, in half of the runs. They do so where a gate offers
// that and a deletion of the pod. That is drawn separately, so that the other runs stay as they are.
func drawByName(o *Options) {
	o.ByName = rand.New(rand.NewPCG(o.Seed, 22)).IntN(2) == 0
}

// Restart is the user naming members to be restarted.
func (w *Model) Restart(names ...string) {
	for _, name := range names {
		k, i, _ := w.member(name)
		p := w.pods[kindOf(k)][i]
		if p == nil {
			continue // its next pod is a new one
		}
		w.note("user: restart %s", name)
		if w.named == nil {
			w.named = map[string]topology.MemberRestart{}
		}
		w.named[name] = topology.MemberRestart{Pod: p.uid, At: w.Now()}
	}
}

// restartAny is the user naming any member.
func (w *Model) restartAny() {
	if k, i, p := w.anyPod(); p != nil {
		w.Restart(w.names[k][i])
	}
}

// namedOf returns the requests for members of a component.
func (w *Model) namedOf(k kind) map[string]topology.MemberRestart {
	var all map[string]topology.MemberRestart
	for name, r := range w.named {
		if _, is := w.index(kinds[k], name); is {
			if all == nil {
				all = map[string]topology.MemberRestart{}
			}
			all[name] = r
		}
	}
	return all
}

// isNamed reports whether a member is still to be restarted because the user has named it.
func (w *Model) isNamed(k kind, i int) bool {
	r, named := w.named[w.names[k][i]]
	return named && w.pods[k][i] != nil && w.pods[k][i].uid == r.Pod
}

// restartNamed deletes the pod of a member that the user has named. The next pod must have the revision that
// was decided on.
func (w *Model) restartNamed(s step.Restart) error {
	k := kindOf(s.Component)
	p := w.pods[k][w.numberOf(s.Ordinal)]
	if p == nil || p.uid != s.PodUID || w.revisionOf(k, w.numberOf(s.Ordinal)) != s.Revision || !w.is(k, s.Basis) {
		return errConflict
	}
	if !p.terminating() {
		w.remove(p)
	}
	return nil
}

// judgeNamed checks that a member keeps its revision, and that nobody but the user has named it. A member without data that
// gets new volumes must not come back with its old claim.
func (w *Model) judgeNamed(s step.Restart, say sayer) {
	k, i := kindOf(s.Component), w.numberOf(s.Ordinal)
	p, renews := w.pods[k][i], w.renews(k, i)
	switch next := w.revisionOf(k, i); {
	case p == nil:
	case renews && !w.isNamed(k, i) && !w.going(k, i):
		say("named", "%s would have its old claim", s.Member)
	case !w.isNamed(k, i) && !renews:
		say("named", "the user has not named %s", s.Member)
	case next != p.revision && !w.sets[k].seen.manual:
		say("named", "%s would have %s in place of %s", s.Member, next, p.revision)
	}
}

package sim

import (
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// A process may stop between its last check and a request, for example on a laptop that sleeps. The request
// arrives minutes or hours later, and nothing but its preconditions protects the cluster.

// drawSleep has processes stop in the middle of a step in two simulated clusters of five. That is drawn separately, so
// that the other runs stay as they are.
func drawSleep(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 34))
	o.Faults.Sleep = pick(rng, 0, 0, 0, 1./60, 1./15)
}

// sleeper is the step of a scenario in which its process stops.
type sleeper struct {
	at    string            // how the step begins; "" for none
	until func(*Model) bool // when the process goes on
}

// nap is how the process of a driver stops in the middle of a step.
type nap struct {
	asleep bool             // it has stopped
	later  bool             // it stops when it has read what the step reads
	woke   bool             // its request comes late
	found  [components]set  // what the request finds
	pods   [components]uids // of pods that were not being deleted then
}

type uids [limit]string

// Sleep has the process that takes a step stop before its request. Another engine drives meanwhile.
func (w *Model) Sleep(s string, until func(*Model) bool) {
	w.sleeper = sleeper{at: s, until: until}
}

// takesLate takes a step whose process may stop before its request, and judges it when the request arrives.
func (w *Model) takesLate(s step.Step) error {
	w.nap = nap{}
	if err := w.stop(s); err != nil {
		return err
	}
	if !w.nap.later {
		w.verdict = w.judge(s)
	}
	err := w.take(s)
	w.judgeLate(s, err)
	return err
}

// stop lets the process of a step stop before the step. Or the process stops later, when it has read what the step
// reads.
func (w *Model) stop(s step.Step) error {
	_, reads := s.(step.Restart)
	switch {
	case w.sleeper.at != "" && strings.HasPrefix(s.String(), w.sleeper.at):
		w.nap.later = true
		return nil
	case w.Faults.Sleep == 0 || w.operator != "" || !w.chance(w.Faults.Sleep):
		return nil
	case reads && w.rng.IntN(2) == 0:
		w.nap.later = true
		return nil
	}
	return w.oversleep(s)
}

// sleep is between what a step reads and its write.
func (w *Model) sleep(s step.Step) error {
	if !w.nap.later {
		return nil
	}
	if w.sleeper.at == "" {
		if err := w.oversleep(s); err != nil {
			return err
		}
	} else {
		w.sleepUntil(s)
	}
	w.verdict = w.judge(s)
	return nil
}

func (w *Model) sleepUntil(s step.Step) {
	until, d := w.sleeper.until, w.driver
	w.sleeper = sleeper{}
	w.note("fault: the engine stops before it sends %q", s)
	w.begin(d.late)
	for !until(w) && w.t < d.late {
		w.pause(1)
	}
	w.wakeUp(s)
}

// oversleep stops the process for minutes or hours. Where commands drive, a person begins another one.
func (w *Model) oversleep(s step.Step) error {
	d := w.driver
	seconds := w.between(60, 1200)
	if w.Daemons == 0 && w.rng.IntN(3) == 0 {
		seconds = w.between(3600, 12*3600)
	}
	w.note("fault: the engine stops before it sends %q, until %s", s, clock(w.t+seconds))
	d.nap.asleep, d.frozen = true, w.t+seconds
	if w.Daemons == 0 && len(w.awake()) == 0 {
		w.begin(d.late).wake = w.t + w.between(1, 300)
	}
	w.pause(seconds)
	d.nap.asleep, d.frozen = false, min(d.frozen, w.t)
	if w.dead {
		return errKilled
	}
	w.wakeUp(s)
	if w.Daemons > 0 {
		return w.request(d)
	}
	return nil
}

func (w *Model) wakeUp(s step.Step) {
	w.note("the engine goes on with %q", s)
	w.nap.woke, w.nap.found, w.nap.pods = true, w.sets, w.lasting()
	if w.Daemons == 0 {
		w.finds = w.t // it sees afterwards that it does not drive any more
	}
}

// awake are the engines that have not stopped in the middle of a step.
func (w *Model) awake() []*driver {
	var all []*driver
	for _, d := range w.drivers {
		if !d.nap.asleep {
			all = append(all, d)
		}
	}
	return all
}

// lasting are the pods that are not being deleted, by UID.
func (w *Model) lasting() [components]uids {
	var all [components]uids
	for k := range kinds {
		for i, p := range w.pods[k] {
			if p != nil && !p.terminating() {
				all[k][i] = p.uid
			}
		}
	}
	return all
}

// judgeLate checks a request that comes late. It must change no StatefulSet that another process has changed since the
// step was decided, and delete no pod of such a StatefulSet.
func (w *Model) judgeLate(next step.Step, err error) {
	if !w.nap.woke {
		return
	}
	if c, _ := next.Target(); c != "" && errors.Is(err, errConflict) && w.nap.found[kindOf(c)].generation != w.view.generations[kindOf(c)] {
		w.Soft.TooLate++
	}
	lasting := w.lasting()
	for k, found := range w.nap.found {
		if !found.exists || found.generation == w.view.generations[k] {
			continue // a creation needs that there is none
		}
		if s := &w.sets[k]; s.generation != found.generation || s.uid != found.uid || s.leaving && !found.leaving {
			w.broke("late", "%s takes effect in another engine's rollout", next)
		}
		// A pod of another component that ends meanwhile is not the work of this step.
		if r, restarts := next.(step.Restart); restarts && kindOf(r.Component) == kind(k) && lasting[k] != w.nap.pods[k] {
			w.broke("late", "%s deletes a pod in another engine's rollout", next)
		}
	}
}

// wakeAll has what has slept until now send its requests in the middle of a rollout that begins now.
func (w *Model) wakeAll() {
	if w.Daemons > 0 || len(w.drivers) == 0 {
		return
	}
	w.Upgrade("v5")
	for _, d := range w.drivers {
		d.wake = w.t + w.rng.Int64N(300)
	}
	w.Settle(settleTime)
	for len(w.drivers) > 0 {
		w.drive(w.drivers[0])
	}
	w.Settle(settleTime)
}

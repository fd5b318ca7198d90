package sim

import (
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// sleeper is a process that stops between its last check and a request, for example on a laptop that
// sleeps. The request arrives when the time has come, and nothing but its preconditions protects the cluster.
type sleeper struct {
	at    string            // the beginning of the step at which it stops; "" for none
	until func(*Model) bool // when it goes on
	d     *driver           // the process, when it goes on
	found [components]set   // what it finds then
}

// Sleep has the process that takes a step stop before its request. Another engine drives meanwhile.
func (w *Model) Sleep(step string, until func(*Model) bool) {
	w.sleeper = sleeper{at: step, until: until}
}

func (w *Model) sleep(step plan.Step) {
	if w.sleeper.at == "" || !strings.HasPrefix(step.String(), w.sleeper.at) {
		return
	}
	until, d := w.sleeper.until, w.driver
	w.sleeper = sleeper{}
	w.note("fault: the engine stops before it sends %q", step)
	w.begin(d.late)
	for !until(w) && w.t < d.late {
		w.pause(1)
	}
	w.sleeper = sleeper{d: d, found: w.sets}
	w.note("the engine goes on with %q", step)
	d.finds = w.t // it sees afterwards that it does not drive any more
}

// judgeLate checks that a request that comes late changes no StatefulSet that another engine has changed since.
func (w *Model) judgeLate(step plan.Step) {
	if w.sleeper.d == nil || w.sleeper.d != w.driver {
		return
	}
	for k, found := range w.sleeper.found {
		if w.sets[k].generation != found.generation && found.generation != w.view.generations[k] {
			w.broke("late", "%s takes effect in another engine's rollout", step)
		}
	}
	w.sleeper = sleeper{}
}

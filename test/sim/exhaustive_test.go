package sim

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

var exhaustive = flag.Int("exhaustive", 0, "run golden scenarios with every fault at every step (1), or with every pair of faults, too (2); 0 for some of them")

// fault is something that goes wrong once, at one step of a scenario.
type fault struct {
	name string
	step int // the first step is 1
	do   func(*Model)
	once bool // it is over with the next step
	then bool // it comes after the step, not before
}

// prepare has the fault happen at its step.
func (f fault) prepare(w *Model) {
	steps, due := 0, false
	w.watches = append(w.watches, watch{on: func(step.Step) bool { steps++; return false }})
	w.watches = append(w.watches, watch{on: func(step.Step) bool { return steps == f.step }, do: func() {
		if due = f.then; !due {
			w.note("fault: %s", f.name)
			f.do(w)
		}
	}})
	if f.then {
		w.When(func(*Model) bool { return due }, func() { w.note("fault: %s", f.name); f.do(w) })
	}
	if f.once {
		w.watches = append(w.watches, watch{on: func(step.Step) bool { return steps > f.step }, do: func() {
			w.chaos, w.Faults = false, Faults{}
		}})
	}
}

// eachFault returns every kind of fault, for each kind of member that the operation's cluster has: the
// lowest ordinal, which others wait for, and the highest, which is restarted first. A fault of a member
// that there is not would be the same scenario once more.
func eachFault(of operation) []fault {
	all := []fault{
		{name: "the step fails", do: func(w *Model) { w.chaos, w.Faults.Fail = true, 1 }, once: true},
		{name: "the answer is lost", do: func(w *Model) { w.chaos, w.Faults.LostAnswer = true, 1 }, once: true},
		{name: "the engine is killed before the step", do: (*Model).kill},
		{name: "the engine is interrupted", do: (*Model).Stop},
		{name: "a second engine begins", do: (*Model).startRival},
		{name: "the cache shows what it showed before", do: func(w *Model) { w.chaos, w.lag, w.lagAll = true, w.t+60, true }, once: true},
		{name: "PD cannot be asked", do: func(w *Model) { w.pd.silentUntil = w.t + 60 }},
		{name: "PD answers without its stores", do: func(w *Model) { w.pd.storeless = w.t + 60 }},
		{name: "PD's leader resigns", do: func(w *Model) { w.Faults.Saved = true; w.resign() }},
		{name: "PD forgets a scheduler", do: (*Model).forget},
		{name: "a person evicts leaders", do: (*Model).evictByHand},
		{name: "Kubernetes loses sight of all hosts", do: func(w *Model) { w.loseSight(150) }},
		{name: "the user pauses for a while", do: func(w *Model) {
			until := w.t + 120
			w.Intent.Paused = true
			w.When(func(w *Model) bool { return w.t >= until }, func() { w.Intent.Paused = false })
		}},
	}
	all = append(all, kills()...)
	for _, k := range of.kinds {
		all = append(all, faultsOf(k, "the first", func(*Model) int { return 0 })...)
		all = append(all, faultsOf(k, "the last", func(w *Model) int { return w.sets[k].spec.replicas - 1 })...)
	}
	return all
}

// kills are the moments of a step at which the engine is killed. A step of one request has no half.
func kills() []fault {
	return []fault{
		{name: "the engine is killed after the step", do: (*Model).kill, then: true},
		{name: "the engine is killed half-way through the step", do: func(w *Model) { w.cut = true }},
	}
}

// faultsOf returns the faults that concern one member.
func faultsOf(k kind, which string, ordinal func(*Model) int) []fault {
	var all []fault
	for _, f := range []struct {
		what string
		do   func(*Model, *pod)
	}{
		{"crashes", func(w *Model, p *pod) { w.halt(p, 30) }},
		{"loses its host for two minutes", func(w *Model, p *pod) { w.lose(p, 120) }},
		{"loses its host for ten minutes", func(w *Model, p *pod) { w.lose(p, 600) }},
		{"is deleted by a person", func(w *Model, p *pod) { w.remove(p) }},
		{"is out of Kubernetes' sight", func(w *Model, p *pod) { p.unseen = w.t + 150 }},
		{"cannot be asked", func(w *Model, p *pod) { p.unreachable = w.t + 90 }},
	} {
		all = append(all, fault{name: fmt.Sprintf("%s %s %s", which, kinds[k].Title(), f.what), do: func(w *Model) {
			if i := ordinal(w); i >= 0 && i < limit && w.pods[k][i] != nil && !w.pods[k][i].terminating() {
				f.do(w, w.pods[k][i])
			}
		}})
	}
	return all
}

// faulty is a golden scenario with faults.
type faulty struct {
	operation string
	faults    []fault
}

func (t faulty) String() string {
	text := t.operation
	for _, f := range t.faults {
		text += fmt.Sprintf(", %s at step %d", f.name, f.step)
	}
	return text
}

// calm ends what may still last at the end of a scenario: a fault, and a pause.
func (t faulty) calm(w *Model) {
	w.Pass(700)
	w.chaos, w.Faults, w.Intent.Paused = false, Faults{}, false
	if strings.Contains(t.String(), "a person") {
		w.help()
	}
}

// run runs the scenario as it is set up, with its faults, and returns the rules that were broken. How it ends is judged
// when the faults are over: until then an engine may be right to end as it does.
func (t faulty) run(s setup) (*Model, []Violation) {
	s.faults = t.faults
	w := goldens[t.operation](s)
	found := slices.DeleteFunc(w.Broken, func(v Violation) bool {
		return slices.Contains([]string{"golden", "stuck", "rest", "restless"}, v.Rule)
	})
	w.Broken = nil
	t.calm(w)
	w.Settle(time.Hour)
	return w, append(found, w.Broken...)
}

// operation is a golden scenario when nothing goes wrong: its steps, and the kinds of members that its
// cluster has at any time.
type operation struct {
	name  string
	steps int
	kinds []kind
}

// operations returns all golden scenarios, the shortest first.
func operations() []operation {
	var all []operation
	for _, name := range slices.Sorted(maps.Keys(goldens)) {
		w := goldens[name](setup{silent: true, faults: []fault{{step: -1}}})
		o := operation{name: name, steps: w.Soft.Steps}
		for k := range kinds {
			if w.sets[k].uid != "" { // a StatefulSet that is deleted keeps it
				o.kinds = append(o.kinds, kind(k))
			}
		}
		all = append(all, o)
	}
	slices.SortStableFunc(all, func(a, b operation) int { return a.steps - b.steps })
	return all
}

// singles returns every operation with every fault at every step.
func singles() []faulty {
	var all []faulty
	for _, o := range operations() {
		for at := range o.steps {
			for _, f := range eachFault(o) {
				f.step = at + 1
				all = append(all, faulty{o.name, []fault{f}})
			}
		}
	}
	return all
}

// pairs returns the three shortest operations with every two faults.
func pairs() []faulty {
	var all []faulty
	for _, o := range operations()[:3] {
		for first := range o.steps {
			for second := first; second < o.steps; second++ {
				for _, f := range eachFault(o) {
					for _, g := range eachFault(o) {
						f.step, g.step = first+1, second+1
						all = append(all, faulty{o.name, []fault{f, g}})
					}
				}
			}
		}
	}
	return all
}

// some is how many of the scenarios with faults are run when -exhaustive is 0.
var some = 2000

// progress is after how many scenarios a line says how far it is.
const progress = 50_000

// spread returns n of the scenarios, spread over all.
func spread(all []faulty, n int) []faulty {
	some := make([]faulty, n)
	for i := range some {
		some[i] = all[i*len(all)/n]
	}
	return some
}

// TestExhaustive runs every golden scenario with every single fault at every step, and the three
// shortest with every pair of faults. Without -exhaustive it runs some of them, spread over all.
func TestExhaustive(t *testing.T) {
	runs := singles()
	if *exhaustive != 1 {
		runs = append(runs, pairs()...)
	}
	all := len(runs)
	if *exhaustive == 0 {
		runs = spread(runs, some)
	}
	begun := time.Now()
	sweep(t, runs, setup{silent: true})
	t.Logf("%d of %d scenarios with one or two faults, in %s", len(runs), all, time.Since(begun).Round(time.Second/10))
}

// sweep runs all scenarios as they are set up, and reports the rules that were broken, each with
// scenarios that have broken it and the transcript of one.
func sweep(t *testing.T, runs []faulty, s setup) {
	begun := time.Now()
	var mu sync.Mutex
	var workers sync.WaitGroup
	next, broken := 0, map[string][]faulty{}
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				if i > 0 && i%progress == 0 {
					t.Logf("%d of %d, %s", i, len(runs), time.Since(begun).Round(time.Second))
				}
				mu.Unlock()
				if i >= len(runs) {
					return
				}
				_, found := runs[i].run(s)
				mu.Lock()
				for _, v := range found {
					broken[v.Rule] = append(broken[v.Rule], runs[i])
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	s.silent = false
	for _, rule := range slices.Sorted(maps.Keys(broken)) {
		t.Errorf("%s: %d scenarios, e.g.", rule, len(broken[rule]))
		for _, b := range broken[rule][:min(8, len(broken[rule]))] {
			t.Log(b)
		}
		w, found := broken[rule][0].run(s)
		lines := strings.Split(w.Transcript(), "\n")
		t.Logf("%v: %v\n%s", broken[rule][0], found, strings.Join(lines[max(0, len(lines)-60):], "\n"))
	}
}

package sim

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

var exhaustive = flag.Int("exhaustive", 0, "live golden stories with every fault at every step (1), or with every pair of faults, too (2); 0 for some of them")

// fault is something that goes wrong once, at one step of a story.
type fault struct {
	name string
	step int // the first step is 1
	do   func(*World)
	once bool // it is over with the next step
	then bool // it comes after the step, not before
}

// prepare has the fault happen at its step.
func (f fault) prepare(w *World) {
	steps, due := 0, false
	w.watches = append(w.watches, watch{on: func(plan.Step) bool { steps++; return false }})
	w.watches = append(w.watches, watch{on: func(plan.Step) bool { return steps == f.step }, do: func() {
		if due = f.then; !due {
			w.note("fault: %s", f.name)
			f.do(w)
		}
	}})
	if f.then {
		w.When(func(*World) bool { return due }, func() { w.note("fault: %s", f.name); f.do(w) })
	}
	if f.once {
		w.watches = append(w.watches, watch{on: func(plan.Step) bool { return steps > f.step }, do: func() {
			w.chaos, w.Faults = false, Faults{}
		}})
	}
}

// eachFault is every kind of fault there is, for each kind of member it can hit: the
// lowest ordinal, which others wait for, and the highest, which goes first.
func eachFault() []fault {
	all := []fault{
		{name: "the step fails", do: func(w *World) { w.chaos, w.Faults.Fail = true, 1 }, once: true},
		{name: "the answer is lost", do: func(w *World) { w.chaos, w.Faults.LostAnswer = true, 1 }, once: true},
		{name: "the engine is killed after the step", do: (*World).kill, then: true},
		{name: "the engine is killed before the step", do: (*World).kill},
		{name: "the engine is interrupted", do: (*World).Stop},
		{name: "a second engine begins", do: (*World).startRival},
		{name: "the cache shows what it showed before", do: func(w *World) { w.chaos, w.lag, w.lagAll = true, w.t+60, true }, once: true},
		{name: "PD cannot be asked", do: func(w *World) { w.pd.blind = w.t + 60 }},
		{name: "PD tells nothing of stores", do: func(w *World) { w.pd.storeless = w.t + 60 }},
		{name: "PD's leader resigns", do: func(w *World) { w.Faults.Saved = true; w.resign() }},
		{name: "PD forgets a scheduler", do: (*World).forget},
		{name: "somebody evicts leaders", do: (*World).evictByHand},
		{name: "Kubernetes loses sight of all hosts", do: func(w *World) { w.loseSight(150) }},
		{name: "the user pauses for a while", do: func(w *World) {
			until := w.t + 120
			w.Intent.Paused = true
			w.When(func(w *World) bool { return w.t >= until }, func() { w.Intent.Paused = false })
		}},
	}
	for k := range kinds {
		all = append(all, faultsOf(kind(k), "the first", func(*World) int { return 0 })...)
		all = append(all, faultsOf(kind(k), "the last", func(w *World) int { return w.sets[k].spec.replicas - 1 })...)
	}
	return all
}

// faultsOf are those that hit one member.
func faultsOf(k kind, which string, ordinal func(*World) int) []fault {
	var all []fault
	for _, f := range []struct {
		what string
		do   func(*World, *pod)
	}{
		{"crashes", func(w *World, p *pod) { w.halt(p, 30) }},
		{"loses its host for two minutes", func(w *World, p *pod) { w.lose(p, 120) }},
		{"loses its host for ten minutes", func(w *World, p *pod) { w.lose(p, 600) }},
		{"is deleted by somebody", func(w *World, p *pod) { w.remove(p) }},
		{"is out of Kubernetes' sight", func(w *World, p *pod) { p.unseen = w.t + 150 }},
		{"cannot be asked", func(w *World, p *pod) { p.unreachable = w.t + 90 }},
	} {
		all = append(all, fault{name: fmt.Sprintf("%s %s %s", which, kinds[k].Title(), f.what), do: func(w *World) {
			if i := ordinal(w); i >= 0 && i < limit && w.pods[k][i] != nil && !w.pods[k][i].terminating() {
				f.do(w, w.pods[k][i])
			}
		}})
	}
	return all
}

// tale is a golden story with faults.
type tale struct {
	operation string
	faults    []fault
}

func (t tale) String() string {
	text := t.operation
	for _, f := range t.faults {
		text += fmt.Sprintf(", %s at step %d", f.name, f.step)
	}
	return text
}

// calm ends what a story may end in: a fault that lasts, and a user who has paused.
func (t tale) calm(w *World) {
	w.Pass(700)
	w.chaos, w.Faults, w.Intent.Paused = false, Faults{}, false
	if strings.Contains(t.String(), "somebody") {
		w.help()
	}
}

// live lives the story and says what rules it broke. How it ends is judged when the
// faults are over: until then an engine may be right to end as it does.
func (t tale) live(silent bool) (*World, []Violation) {
	w := goldens[t.operation](stage{faults: t.faults, silent: silent})
	found := slices.DeleteFunc(w.Broken, func(v Violation) bool {
		return slices.Contains([]string{"golden", "stuck", "rest", "restless"}, v.Rule)
	})
	w.Broken = nil
	t.calm(w)
	w.Settle(time.Hour)
	return w, append(found, w.Broken...)
}

// steps is how many steps an operation has when nothing goes wrong.
func steps(operation string) int {
	n := 0
	w := goldens[operation](stage{silent: true, faults: []fault{{step: -1}}})
	n = w.Soft.Steps
	return n
}

// singles is every operation with every fault at every step.
func singles() []tale {
	var all []tale
	for _, operation := range slices.Sorted(maps.Keys(goldens)) {
		for at := range steps(operation) {
			for _, f := range eachFault() {
				f.step = at + 1
				all = append(all, tale{operation, []fault{f}})
			}
		}
	}
	return all
}

// pairs is the three shortest operations with every two faults.
func pairs() []tale {
	operations := slices.Sorted(maps.Keys(goldens))
	sort.SliceStable(operations, func(i, j int) bool { return steps(operations[i]) < steps(operations[j]) })
	var all []tale
	for _, operation := range operations[:3] {
		n := steps(operation)
		for first := range n {
			for second := first; second < n; second++ {
				for _, f := range eachFault() {
					for _, g := range eachFault() {
						f.step, g.step = first+1, second+1
						all = append(all, tale{operation, []fault{f, g}})
					}
				}
			}
		}
	}
	return all
}

// some is how many of the stories with faults are lived each time that the tests run.
const some = 2000

// TestExhaustive lives every golden story with every single fault at every step, and
// the three shortest with every pair of faults. Without -exhaustive it lives some of
// them, spread over all.
func TestExhaustive(t *testing.T) {
	tales := singles()
	if *exhaustive != 1 {
		tales = append(tales, pairs()...)
	}
	all := len(tales)
	if *exhaustive == 0 {
		stride := len(tales) / some
		for i := range some {
			tales[i] = tales[i*stride]
		}
		tales = tales[:some]
	}
	begun := time.Now()
	var mu sync.Mutex
	var workers sync.WaitGroup
	next, broken := 0, map[string][]tale{}
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(tales) {
					return
				}
				_, found := tales[i].live(true)
				mu.Lock()
				for _, v := range found {
					broken[v.Rule] = append(broken[v.Rule], tales[i])
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	t.Logf("%d of %d stories with one or two faults, in %s", len(tales), all, time.Since(begun).Round(time.Second/10))
	for _, rule := range slices.Sorted(maps.Keys(broken)) {
		t.Errorf("%s: %d stories, e.g.", rule, len(broken[rule]))
		for _, b := range broken[rule][:min(8, len(broken[rule]))] {
			t.Log(b)
		}
		w, found := broken[rule][0].live(false)
		lines := strings.Split(w.Transcript(), "\n")
		t.Logf("%v: %v\n%s", broken[rule][0], found, strings.Join(lines[max(0, len(lines)-60):], "\n"))
	}
}

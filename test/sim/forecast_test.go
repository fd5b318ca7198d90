package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/forecast"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// foretell returns what a forecast says now.
func (w *Model) foretell() forecast.Forecast {
	now := w.observe()
	return forecast.Of(component.Profiles(), w.policy(), now.wanted, now.snap)
}

// record notes all steps that engines take from now on.
func (w *Model) record() *[]step.Step {
	steps := &[]step.Step{}
	w.watches = append(w.watches, watch{on: func(s step.Step) bool { *steps = append(*steps, s); return false }})
	return steps
}

// comparable returns what a forecast must have in the order of the run: the steps for each member, those
// for each component as a whole, and which members of it restart or leave. What is done at the same time
// for several members, as to grow their volumes, has no order: it depends on how long data takes.
//
// Left out is what depends on more than a forecast knows, and takes nothing away: the ConfigMap of the
// cluster as a whole, whose content follows from what PD will have said, records, and requests to TiCDC,
// which has an election of its own and is asked again and again. A Pump that the kubelet starts again is
// closed again, which counts once. Members that leave at the same time may go by one step or by several.
// And steps for members that join while the template or the volumes change: with which they begin depends on how
// long the rollouts of other components take. So does the member that leads PD after one has joined.
func comparable(steps []step.Step, joins func(member string) bool, scaled bool) map[string][]string {
	all := map[string][]string{}
	for _, s := range steps {
		kind, member := s.Target()
		if joins(member) {
			continue
		}
		text, about := s.String(), cmp.Or(member, string(kind))
		switch s := s.(type) {
		case step.DrainCapture, step.ForgetDrain, step.ForgetRecord:
			continue
		case step.Apply:
			about += " objects"
			if kind == "" {
				continue
			}
		case step.ClosePump:
			if slices.Contains(all[about], text) {
				continue
			}
		case step.Restart:
			all["restarts"] = append(all["restarts"], s.Member)
			if kind == topology.TiCDC {
				s.Without = ""
				text = s.String()
			}
		case step.MoveLeader:
			if scaled {
				text = "move PD leader"
			}
		case step.RemoveStore, step.RemoveMember:
			all["removals of "+string(kind)] = append(all["removals of "+string(kind)], member)
		case step.Resize:
			text = fmt.Sprintf("scale to %d", s.To)
			if n := len(all[about]); n > 0 && s.To < s.From && strings.HasPrefix(all[about][n-1], "scale") {
				all[about] = all[about][:n-1]
			}
		}
		all[about] = append(all[about], text)
	}
	return all
}

// foretold compares a forecast with the run that follows.
func foretold(t *testing.T, w *Model, run func()) {
	t.Helper()
	f := w.foretell()
	first := w.sets
	joins := func(member string) bool {
		name, i, ok := w.member(member)
		if !ok {
			return false
		}
		k := kindOf(name)
		s := first[k].spec
		return i >= s.replicas && (s.template != w.Intent.Template[k] || s.size != w.Intent.Size[k])
	}
	scaled := w.Intent.Replicas[pd] > first[pd].spec.replicas
	taken := w.record()
	if f.Last.Outcome != plan.Converged {
		run = func() {
			if p, err := w.Drive(time.Hour); err != nil || p.Outcome != f.Last.Outcome {
				t.Errorf("the run ends: %s, %v", gates(p), err)
			}
		}
	}
	run()
	var said []step.Step
	for _, s := range f.Steps {
		said = append(said, s.Step)
	}
	want, got := comparable(*taken, joins, scaled), comparable(said, joins, scaled)
	for _, about := range slices.Sorted(maps.Keys(want)) {
		if a, b := want[about], got[about]; !slices.Equal(a, b) {
			t.Errorf("%s: the run:\n  %s\nthe forecast:\n  %s\nat its end: %s", about, strings.Join(a, "\n  "), strings.Join(b, "\n  "), gates(f.Last))
		}
	}
	for about, steps := range got {
		if len(want[about]) == 0 {
			t.Errorf("%s: only the forecast has %s", about, steps)
		}
	}
	if f.Last.Outcome != plan.Converged && f.Last.Outcome != plan.Blocked {
		t.Errorf("the forecast does not end: %s", gates(f.Last))
	}
	if len(w.Broken) > 0 {
		t.Error(w.Broken)
	}
}

func TestForecastDrawn(t *testing.T) {
	for seed := range uint64(400) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := drawnAtRest(seed)
			w.changeSome(rand.New(rand.NewPCG(seed, 20)))
			foretold(t, w, func() { w.Settle(3 * time.Hour) })
		})
	}
}

// stories are changes of a cluster, one after the other, each with a forecast. They are those of the
// transcripts, as far as nothing goes wrong in them, and some more.
var stories = map[string]struct {
	Options
	changes []func(*Model)
}{
	"create":              {Options{PD: 3, TiKV: 3, TiDB: 2}, nil},
	"create-with-tiflash": {Options{PD: 1, TiKV: 3, TiDB: 1, TiFlash: 2, Learners: 1, TiCDC: 2}, nil},
	"create-all":          {Options{PD: 3, TiKV: 3, TiFlash: 1, Pump: 2, Binlog: true, TiDB: 2, TiProxy: 2, TiCDC: 2, FirstPassword: true}, nil},
	"scale-tikv":          {Options{PD: 3, TiKV: 3, TiDB: 2}, scales(topology.TiKV, 5, 3, 4)},
	"scale-pd":            {Options{PD: 3, TiKV: 3, TiDB: 2}, scales(topology.PD, 5, 3, 4)},
	"scale-tidb":          {Options{PD: 3, TiKV: 3, TiDB: 2}, scales(topology.TiDB, 4, 1)},
	"scale-tiflash":       {Options{PD: 1, TiKV: 3, TiDB: 1, TiFlash: 2, Learners: 2}, scales(topology.TiFlash, 3, 1)},
	"scale-ticdc":         {Options{PD: 1, TiKV: 3, TiDB: 1, TiCDC: 2, Feeds: 4}, scales(topology.TiCDC, 3, 1)},
	"scale-pump":          {Options{PD: 1, TiKV: 3, TiDB: 1, Pump: 1}, scales(topology.Pump, 3, 1)},
	"upgrade": {Options{PD: 3, TiKV: 3, TiDB: 2}, []func(*Model){
		func(w *Model) { w.pd.leader = w.pd.memberAt(2).id; w.Upgrade("v2") },
	}},
	"upgrade-all": {Options{PD: 3, TiKV: 4, TiFlash: 2, Pump: 2, TiDB: 2, TiProxy: 2, TiCDC: 2, Feeds: 4}, []func(*Model){
		func(w *Model) { w.Upgrade("v2") },
	}},
	"upgrade-and-scale": {Options{PD: 3, TiKV: 4, TiDB: 2}, []func(*Model){func(w *Model) {
		w.Upgrade("v2")
		w.Scale(topology.PD, 4)
		w.Scale(topology.TiKV, 3)
		w.Scale(topology.TiDB, 3)
	}}},
	"single": {Options{PD: 1, TiKV: 1, TiDB: 1, MaxCopy: 1}, []func(*Model){func(w *Model) { w.Upgrade("v2") }}},
	"suspend-and-resume": {Options{PD: 3, TiKV: 3, TiFlash: 1, TiDB: 2, TiCDC: 1}, []func(*Model){
		func(w *Model) { w.Suspend(w.lastOf(0)...) },
		func(w *Model) { w.Suspend() },
		func(w *Model) { w.Suspend(topology.TiFlash, topology.TiCDC) },
		func(w *Model) { w.Suspend() },
	}},
	"volumes": {Options{PD: 3, TiKV: 3, TiDB: 2}, []func(*Model){func(w *Model) {
		w.Resize(topology.TiKV, 20)
		w.Upgrade("v2")
	}}},
}

// scales is a user who changes a number of replicas, once the last change is done.
func scales(k topology.Kind, replicas ...int) []func(*Model) {
	var all []func(*Model)
	for _, n := range replicas {
		all = append(all, func(w *Model) { w.Scale(k, n) })
	}
	return all
}

func TestForecastStories(t *testing.T) {
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			w := New(story.Options)
			foretold(t, w, func() { w.Settle(time.Hour) })
			for _, change := range story.changes {
				w.Pass(int(apart / time.Second))
				change(w)
				foretold(t, w, func() { w.Settle(3 * time.Hour) })
			}
		})
	}
}

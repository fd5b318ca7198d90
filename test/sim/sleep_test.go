package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// The laptop of a run sleeps just before it restarts a store. Another engine finishes that rollout, a third
// template is applied, and its rollout has not reached the store. The old request must not open the partition.
func TestRestartSentHoursLater(t *testing.T) {
	w := settled(Options{})
	w.Upgrade("v2", topology.TiKV)
	w.When(func(w *Model) bool { return w.sets[tikv].current == w.sets[tikv].update && w.rolledTo("v2") }, func() {
		w.Upgrade("v3", topology.TiKV)
	})
	w.Sleep("restart basic-tikv-2", func(w *Model) bool {
		set := &w.sets[tikv]
		return set.spec.template == "v3" && set.observed == set.generation && set.spec.partition == set.spec.replicas
	})
	fine(t, w)
	if !inTranscript(w, "the engine goes on with") {
		t.Errorf("the step did not come late\n%s", w.Transcript())
	}
	_, _ = w.Drive(time.Minute)
}

// rolledTo reports whether all stores run with a template.
func (w *Model) rolledTo(template string) bool {
	for i := range w.sets[tikv].spec.replicas {
		if p := w.pods[tikv][i]; p == nil || !p.ready || p.revision != w.sets[tikv].update {
			return false
		}
	}
	return w.sets[tikv].spec.template == template
}

// Random runs have processes stop in the middle of a step as well, and some of their requests come when another
// process has changed the StatefulSet. Without the preconditions of steps one run in a hundred breaks a rule.
func TestRandomRunsSleep(t *testing.T) {
	late := 0
	for seed := uint64(1); seed < 200 && late < 3; seed++ {
		o := Options{Seed: seed}
		if drawSleep(&o); o.Faults.Sleep < .05 {
			continue
		}
		w := Seed(seed, false)
		for _, v := range w.Broken {
			t.Errorf("seed %d: %s", seed, v)
		}
		late += w.Soft.TooLate
	}
	if late < 3 {
		t.Errorf("%d requests came too late", late)
	}
}

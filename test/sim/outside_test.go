package sim

import (
	"slices"
	"testing"
)

// TestReleaseOf: the release that a member reports follows from the name of its pod template.
func TestReleaseOf(t *testing.T) {
	for template, want := range map[string]string{
		"v1": "v8.1.0", "v2-deaf": "v8.1.2", "pinned:newer:v3": "v8.5.0", "v8.5.4+1a2b3c": "v8.5.4", "v8.5.4+1a2b3c-frail": "v8.5.4",
		"none+1a2b3c": "v8.1.0", "": "v8.1.0",
	} {
		if got := releaseOf(template); got != want {
			t.Errorf("%q: %s, not %s", template, got, want)
		}
	}
}

// TestReportedRelease: PD has the release of a store's process from when that process has registered.
func TestReportedRelease(t *testing.T) {
	w := settled(Options{})
	w.Upgrade("v2")
	reported := func() []string {
		var all []string
		stores, _ := w.Stores()
		for _, s := range stores {
			all = append(all, s.Release)
		}
		for _, m := range w.PDMembers() {
			all = append(all, m.Release)
		}
		return all
	}
	for _, release := range reported() {
		if release != "v8.1.0" {
			t.Errorf("before the upgrade: %s", release)
		}
	}
	w.Settle(settleTime)
	for _, release := range reported() {
		if release != "v8.1.2" {
			t.Errorf("after the upgrade: %s", release)
		}
	}
}

// TestEndedPodOfARestart: a partition has allowed the restart of a pod whose phase is final, while the process still
// runs. The deletion of this pod is the second half of the restart. Where no partition allows it, the deletion ends a
// process that runs.
func TestEndedPodOfARestart(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		w := settled(Options{TiDB: 2, KeepEnded: true})
		w.evict(w.pods[tidb][1], 30)
		if allowed {
			w.asked[tidb]["v2"] = true
			w.Intent.Template[tidb] = "v2"
			w.change(&w.sets[tidb], setSpec{members: members{replicas: 2}, partition: 1, template: "v2"})
		}
		w.Look()
		w.Judging(true)
		w.DeletePod(w.pods[tidb][1].uid, false)
		if ended := slices.ContainsFunc(w.Broken, func(v Violation) bool { return v.Rule == "ended" }); ended == allowed {
			t.Errorf("allowed %t: %v", allowed, w.Broken)
		}
	}
}

// TestLateRequest: a request of a process that has stood still may change no StatefulSet that another process has
// changed meanwhile, and delete no pod of such a StatefulSet.
func TestLateRequest(t *testing.T) {
	another := func(w *Model) {
		w.change(&w.sets[tidb], setSpec{members: members{replicas: 2}, partition: 2, template: "v2"})
	}
	for name, c := range map[string]struct {
		meanwhile, request func(w *Model)
		late               bool
	}{
		"refused":              {another, func(*Model) {}, false},
		"nothing has changed":  {func(*Model) {}, another, false},
		"a StatefulSet":        {another, func(w *Model) { w.change(&w.sets[tidb], setSpec{members: members{replicas: 2}, template: "v2"}) }, true},
		"a pod":                {another, func(w *Model) { w.remove(w.pods[tidb][1]) }, true},
		"a pod of another set": {another, func(w *Model) { w.remove(w.pods[tikv][1]) }, false},
		"a pod that has ended": {another, func(w *Model) { w.remove(w.pods[tidb][0]) }, false},
	} {
		w := settled(Options{TiDB: 2})
		w.evict(w.pods[tidb][0], 0)
		w.Look()
		process := w.StandStill()
		c.meanwhile(w)
		w.GoOn(process, func() { c.request(w) })
		if late := slices.ContainsFunc(w.Broken, func(v Violation) bool { return v.Rule == "late" }); late != c.late {
			t.Errorf("%s: %v", name, w.Broken)
		}
	}
}

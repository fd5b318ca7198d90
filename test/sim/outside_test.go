package sim

import "testing"

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

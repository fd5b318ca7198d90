package observe

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// TestSlowHost: a member of a new pod that does not answer in time gets twice as long the next time. One that answers
// keeps its limit, and one of another pod has its own.
func TestSlowHost(t *testing.T) {
	o := through(unasked(t))
	for _, c := range []struct {
		pod       string
		age, took time.Duration // how long it would take to answer
		want      time.Duration // how long it was asked
	}{
		{"a", 0, time.Minute, newTimeout},
		{"a", 0, time.Minute, 2 * newTimeout},
		{"b", 0, time.Millisecond, time.Millisecond},
		{"b", 0, time.Minute, newTimeout},
		{"a", 0, 3 * time.Second, 3 * time.Second},
		{"a", 0, time.Minute, readTimeout},
		{"a", 0, time.Minute, readTimeout},
		{"a", addressKept, time.Minute, readTimeout},
		{"a", 0, time.Minute, newTimeout}, // what was known of it was dropped when it was no longer new
	} {
		synctest.Test(t, func(t *testing.T) {
			members := []state.Member{{Pod: &state.Pod{UID: c.pod, Made: noon.Add(-c.age)}}}
			begun := time.Now()
			o.each(t.Context(), members, func(ctx context.Context, _ *state.Member) {
				select {
				case <-time.After(c.took):
				case <-ctx.Done():
				}
			})
			if took := time.Since(begun); took != c.want {
				t.Errorf("pod %s, %v old, was asked for %v, want %v", c.pod, c.age, took, c.want)
			}
		})
	}
}

// TestGlance: a person who looks at a cluster does not wait for members of a lost node. A process that acts does,
// because it must not take a slow member that serves for a silent one.
func TestGlance(t *testing.T) {
	lost := state.Pod{Node: "n", NodeState: state.NodeNotReady, Made: noon.Add(-time.Hour)}
	serves := state.Pod{Node: "n", NodeState: state.NodeReady, Made: noon.Add(-time.Hour)}
	for _, c := range []struct {
		name    string
		glances bool
		pod     state.Pod
		want    time.Duration
	}{
		{"a glance at a lost node", true, lost, newTimeout},
		{"a process that acts", false, lost, readTimeout},
		{"a glance at another node", true, serves, readTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := &Observer{now: func() time.Time { return noon }, glances: c.glances}
			begun := time.Now()
			for range 2 {
				o.each(t.Context(), []state.Member{{Name: "basic-tidb-0", Pod: &c.pod}}, func(ctx context.Context, _ *state.Member) { <-ctx.Done() })
			}
			if took := time.Since(begun) / 2; took != c.want {
				t.Errorf("%s: %s, want %s", c.name, took, c.want)
			}
		})
	}
}

package facts

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// many is the number of restarts from which a process counts as crashing again and again.
const many = 3

// Loops reports whether a member's process crashes again and again. Ready is no evidence against
// crashes. Without a readiness probe a pod is Ready whenever the process runs, and its peers would
// be restarted in the minute between two crashes. To count as recovered, the process must run for
// long enough, and for twice as long as the last time. Ten minutes are always enough, since the
// kubelet resets its count after that time as well.
func (c Component) Loops(m state.Member) bool {
	p := m.Pod
	if p == nil || p.Terminating || p.Restarts < many || p.Last.Ended.IsZero() {
		return false
	}
	ran := p.Last.Ended.Sub(p.Last.Started)
	if ran >= TimeToServe {
		return false
	}
	return p.Started.IsZero() || c.All.At.Sub(p.Started) < max(Proving, min(2*ran, TimeToServe))
}

// LoopingSince returns the latest time since when a member can have crashed again and again, by the
// pod's status. What this process remembers is lost at the end of each run.
func (c Component) LoopingSince(p *state.Pod) time.Time {
	switch {
	case c.All.At.Sub(p.Made) < 2*kubeletWaits(p.Restarts):
		return p.Made // it has waited to be started again for most of the time
	case !p.Started.IsZero():
		// The kubelet doubles its wait before each start. So all waits before the last together
		// took as long as the last.
		return p.Last.Ended.Add(-p.Started.Sub(p.Last.Ended))
	}
	return p.Last.Started
}

// kubeletWaits returns how long a kubelet waits at most, in all, before it has started a container
// again that often. The first wait is 10 seconds. Each next wait is twice as long, but never longer
// than five minutes.
func kubeletWaits(restarts int) time.Duration {
	const first, longest = 10 * time.Second, 5 * time.Minute
	var all time.Duration
	for wait := first; restarts > 0; restarts-- {
		all += wait
		wait = min(2*wait, longest)
	}
	return all
}

// UnchangedSince returns when the state of a member's pod last changed. Of a crash loop this is the begin of the loop,
// and not the last crash.
func (c Component) UnchangedSince(m state.Member) time.Time {
	switch {
	case c.Loops(m):
		return c.LoopingSince(m.Pod)
	case m.Pod.Started.After(m.Pod.Since):
		return m.Pod.Started
	}
	return m.Pod.Since
}

package sim

import (
	"math/rand/v2"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// clocks are how many seconds the clocks of hosts are ahead of that of the API server; below zero, behind. Package
// observe corrects the times of pods on a host whose clock is behind. It cannot see that a clock is ahead. It also
// corrects the dates of PD by the clock of PD's leader, though an earlier leader may have written some.
type clocks [components][limit]int64

// offset is how far clocks may be off, in seconds: two of them by less than five minutes, see apart.
const offset = 149

// offsetClocks sets the clocks of hosts wrong, in one simulated cluster of four.
func (w *Model) offsetClocks() {
	rng := rand.New(rand.NewPCG(w.Seed, 7))
	if rng.IntN(4) > 0 {
		return
	}
	for k := range kinds {
		for i := range limit {
			w.clocks[k][i] = rng.Int64N(2*offset) - offset
		}
	}
}

// byHost sets the times of a pod that its kubelet reports to the clock of its host. While
// Kubernetes gets no report from the host, it reports itself that the pod is not Ready.
func (w *Model) byHost(k kind, i int, out *state.Pod) {
	ahead := time.Duration(w.clocks[k][i]) * time.Second
	if ahead <= 0 {
		return
	}
	for _, t := range []*time.Time{&out.Started, &out.Last.Started, &out.Last.Ended} {
		if !t.IsZero() {
			*t = t.Add(ahead)
		}
	}
	if p := w.pods[k][i]; !out.Terminating && p.since > p.made && p.lost <= w.t && p.unseen <= w.t {
		out.Since = out.Since.Add(ahead)
	}
}

// dated returns the date that PD's leader gives to what happens now: by the clock of its host.
func (w *Model) dated() int64 {
	m := w.pd.member(w.pd.leader)
	if m == nil || m.ordinal < 0 {
		return w.t
	}
	return w.t + w.clocks[pd][m.ordinal]
}

// apart is more than the difference between the clocks of two hosts, as package observe takes it.
const apart = 5 * time.Minute

// proves reports whether a store's last heartbeat comes from a process that began at a time. PD's leader dates the
// heartbeat, and the clock of another host dates the process.
func (w *Model) proves(s *store, began time.Time) bool { return w.lastBeat(s).After(began.Add(apart)) }

// lastBeat is when PD got the last heartbeat of a store, by the date and the clock of PD's leader.
func (w *Model) lastBeat(s *store) time.Time {
	if s.dated == noHeartbeat {
		return time.Time{}
	}
	return w.at(s.dated + w.t - w.dated())
}

// registered reports whether a process has announced itself to PD that has no regions to open.
func registered(s *store, p *pod) bool { return s.regions == 0 && s.announced >= p.started }

// justRegistered reports whether PD awaits the first heartbeat of a new store, which may have got regions already.
func (w *Model) justRegistered(s *store, p *pod) bool {
	return w.shownState(s) == state.StoreDown && s.dated == noHeartbeat && s.announced >= p.started && (s.regions == 0 || p.restarts == 0)
}

// awaited reports whether it is too early for the first heartbeat of a new store.
func (w *Model) awaited(k kind, i int, d *state.Database) bool {
	p := w.pods[k][i]
	started := p.started + w.clocks[k][i] // by the clock of its host
	return d.New && w.t-started < firstBeat && w.t-p.made < soonStarted
}

package forecast

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func closePump(w *world, s step.ClosePump) {
	d := &w.member(s.Component, s.Member).Database
	d.Pump.State, d.Healthy = state.PumpClosing, false // only one that is online is
}

// readBinlog is drainers that have read all that a Pump has, so that it is offline and ends.
func (w *world) readBinlog() {
	for _, m := range w.members(topology.Binlog) {
		if m.Database.Pump.State == state.PumpClosing {
			m.Database.Pump.State, m.Database.Healthy, w.changed = state.PumpOffline, false, true
		}
	}
}

// drains reports what is known of the captures of a component, if its members are captures.
func (w *world) drains(k topology.Kind) state.Drains {
	for _, m := range w.snap.Groups[k].Members {
		if c := m.Database.Capture; c.ID != "" {
			return c.Drains
		}
	}
	return state.DrainsUnknown
}

// countCaptures sets what TiCDC says of its captures as a whole. Captures elsewhere stay.
func (w *world) countCaptures() {
	for _, k := range topology.Kinds() {
		var captures []*state.Member
		owner := ""
		g := w.snap.Groups[k]
		for i := range g.Members {
			if m := &g.Members[i]; m.Up() && m.Database.Capture.ID != "" {
				captures = append(captures, m)
				if m.Database.Capture.Owner {
					owner = m.Database.Capture.ID
				}
			}
		}
		if owner == "" && len(captures) > 0 {
			owner = captures[0].Database.Capture.ID
			captures[0].Database.Capture.Owner = true
		}
		for _, m := range captures {
			m.Database.Capture.Others, m.Database.Capture.Leads = len(captures)-1, owner
		}
	}
}

// drainCapture asks TiCDC: the owner resigns, and after a turn the tables have left.
func drainCapture(w *world, s step.DrainCapture) {
	m := w.member(s.Component, s.Member)
	if s.Owner {
		w.resign(m)
	}
	d, again := w.snap.Drain(s.Member)
	again = again && d.PodUID == s.PodUID && d.Capture == s.Capture
	if !again {
		d = state.Drain{Member: s.Member, PodUID: s.PodUID, Capture: s.Capture, Since: w.snap.At, Tables: state.TablesUnknown}
	}
	if again && !s.Owner && d.Of == m.Database.Capture.Leads {
		d.Tables = 0
	}
	d.Asked, d.Of = w.snap.At, m.Database.Capture.Leads
	w.snap.Drains = slices.DeleteFunc(w.snap.Drains, func(o state.Drain) bool { return o.Member == s.Member })
	w.snap.Drains = append(w.snap.Drains, d)
	w.changed = true
}

// resign makes another capture the owner.
func (w *world) resign(m *state.Member) {
	g := w.snap.Groups[m.Kind]
	for i := range g.Members {
		o := &g.Members[i]
		if o.Ordinal != m.Ordinal && o.Up() && o.Database.Capture.ID != "" {
			m.Database.Capture.Owner, o.Database.Capture.Owner = false, true
			break
		}
	}
	w.countCaptures()
}

func forgetDrain(w *world, s step.ForgetDrain) {
	w.snap.Drains = slices.DeleteFunc(w.snap.Drains, func(d state.Drain) bool { return d.Member == s.Member })
}

func adoptDrain(w *world, s step.AdoptDrain) {
	m := w.member(s.Component, s.Member)
	m.Pod.DrainBegun = time.Time{}
	if !s.Since.IsZero() {
		w.snap.Drains = append(w.snap.Drains, state.Drain{
			Member: s.Member, PodUID: s.PodUID, Capture: m.Database.Capture.ID, Since: s.Since, Asked: w.snap.At, Tables: state.TablesUnknown,
		})
	}
}

package forecast

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func (w *world) mark(k topology.Kind, name string, claims []step.Claim, marked bool) {
	m := w.member(k, name)
	for i := range m.Claims {
		if slices.ContainsFunc(claims, func(c step.Claim) bool { return c.Name == m.Claims[i].Name }) {
			m.Claims[i].Marked = marked
		}
	}
}

func deleteClaim(w *world, s step.DeleteClaim) {
	m := w.member(s.Component, s.Member)
	for i := range m.Claims {
		if m.Claims[i].UID == s.UID {
			m.Claims[i].Terminating = true
		}
	}
}

func resizeClaim(w *world, s step.ResizeClaim) {
	m := w.member(s.Component, s.Member)
	for i := range m.Claims {
		if m.Claims[i].UID == s.UID {
			m.Claims[i].Requested = s.Size
		}
	}
}

func modifyClaim(w *world, s step.ModifyClaim) {
	m := w.member(s.Component, s.Member)
	for i := range m.Claims {
		if m.Claims[i].UID == s.UID {
			m.Claims[i].Attributes, m.Claims[i].Modified = s.Class, s.Class
		}
	}
}

// claim makes the claims of a member that it does not have yet.
func (w *world) claim(set state.Set, m *state.Member) []string {
	var names []string
	for template, from := range set.Volumes {
		name := template + "-" + m.Name
		names = append(names, name)
		if slices.ContainsFunc(m.Claims, func(c state.Claim) bool { return c.Name == name }) {
			continue
		}
		w.made, m.LostVolume = append(w.made, name), state.LostVolume{}
		m.Claims = append(m.Claims, state.Claim{
			Name: name, UID: w.uid(), Template: template, Bound: true, Growth: state.Growable, Class: from.Class, Attributes: from.Attributes, Modified: from.Attributes, Requested: from.Size, Capacity: from.Size,
		})
	}
	slices.Sort(names)
	return names
}

// growVolumes is what storage does.
func (w *world) growVolumes(m *state.Member) {
	for i := range m.Claims {
		if c := &m.Claims[i]; c.Bound && c.Capacity < c.Requested && m.Pod != nil {
			c.Capacity, w.changed = c.Requested, true
		}
	}
}

// dropClaims deletes claims that no pod uses any more. What PD says of the data on them is then said of
// nothing here.
func (w *world) dropClaims(m *state.Member) {
	if m.Pod != nil {
		return
	}
	n := len(m.Claims)
	m.Claims = slices.DeleteFunc(m.Claims, func(c state.Claim) bool { return c.Terminating })
	if len(m.Claims) == n {
		return
	}
	w.changed = true
	g := w.group(m.Kind)
	g.Spare = g.SpareFor(w.snap.Groups[m.Kind])
	if m.Database.Removed() {
		m.Database = state.Database{Presence: state.Absent}
	}
}

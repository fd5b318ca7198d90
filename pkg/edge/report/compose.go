package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// atLeast is how many lines are kept for what happens now. In a terminal that is too low for
// everything, the components are left out.
const atLeast = 4

// item is something that happens now: a step under way, one that fails, or a gate.
type item struct {
	component string // below which it is shown; "" for the cluster
	tone      Tone
	sign      string
	text      string
	help      []remedy.Advice
}

// compose returns the live lines as a tree. It has the cluster, how far each component is, and below it the members
// to which something happens now. Other members have no line, so that a cluster of 300 stores fits on the screen.
// Lines leave one column free, but for commands that are longer than a row.
func (s *screen) compose(now time.Time, columns, height int) []string {
	width := columns - 1
	lines := s.header(now, width)
	items := s.items(now)
	rows := s.components(items, now, width)
	if n := len(lines) + len(slices.Concat(rows...)); n+min(len(items), atLeast) > height {
		lines, rows = lines[:1], nil
	}
	room := height - len(lines) - len(slices.Concat(rows...))
	for n, it := range items {
		at, indent := s.view.place(it.component), "  "
		if at < 0 || rows == nil {
			at, indent = -1, ""
		}
		b := s.block(it, indent, width)
		left := len(items) - n
		size := 0
		for _, l := range b {
			size += rowsOf(l, columns)
		}
		if n > 0 && size+min(left-1, 1) > room { // a line is kept for the one that counts the rest
			rows = append(rows, []string{fmt.Sprintf("  and %d more", left)})
			break
		}
		room -= size
		if at < 0 {
			lines = append(lines, b...)
		} else {
			rows[at] = append(rows[at], b...)
		}
	}
	lines = append(lines, slices.Concat(rows...)...)
	return lines[:fitting(lines, columns, max(height, 1))]
}

// fitting returns how many of the lines fit into rows of a width.
func fitting(lines []string, columns, height int) int {
	for i, l := range lines {
		if height -= rowsOf(l, columns); height < 0 {
			return i
		}
	}
	return len(lines)
}

func (s *screen) header(now time.Time, width int) []string {
	parts := []string{s.view.target()}
	if s.view.action != "" {
		parts = append(parts, Clean(s.view.action))
	}
	parts = append(parts, state.Age(now.Sub(s.view.start)))
	// The spinner only shows that the process runs. This says for how long nothing
	// else has changed.
	if d := s.view.quiet(now); d >= s.quiet {
		parts = append(parts, "no change for "+state.Age(d))
	}
	lines := s.style.fold(strings.Join(parts, s.style.dot), width)
	for i := range lines {
		lines[i] = s.style.paint(bold, lines[i])
	}
	return lines
}

// components returns the lines of each component. A component to which something happens has no tick. While the
// cluster cannot be observed no component has a tick, because what was seen before may be true no more.
func (s *screen) components(items []item, now time.Time, width int) [][]string {
	pad := 0
	for _, r := range s.view.rows {
		pad = max(pad, len(r.title()))
	}
	unread := s.view.unread()
	var all [][]string
	for _, r := range s.view.rows {
		text := r.numbers()
		if !unread.IsZero() {
			text += ", " + state.Age(now.Sub(unread)) + " ago"
		}
		t := neutral
		switch {
		case s.blocks(r):
			t = Bad
		case unread.IsZero() && r.settled() && !slices.ContainsFunc(items, func(it item) bool { return it.component == r.Component }):
			t = Good
		}
		lead := fmt.Sprintf("%s %-*s  ", s.style.paint(t, s.style.mark(t)), pad, r.title())
		var lines []string
		for _, l := range s.style.fold(text, width-pad-4) {
			lines = append(lines, lead+l)
			lead = strings.Repeat(" ", pad+4)
		}
		all = append(all, lines)
	}
	return all
}

// blocks reports whether a component needs manual action.
func (s *screen) blocks(r row) bool {
	for _, g := range s.view.gates {
		if g.blocked() && g.event.Component == r.Component {
			return true
		}
	}
	return false
}

// items returns what happens now, with the reason, the age and what can be done. These are the steps under way,
// steps that fail, and gates. The same advice is given once.
func (s *screen) items(now time.Time) []item {
	spin := s.style.frame(now)
	var all []item
	for _, st := range s.view.steps {
		all = append(all, item{st.component, neutral, spin, Clean(st.text) + took(now.Sub(st.since)), nil})
	}
	for _, f := range s.view.failures {
		all = append(all, item{f.component, Bad, s.style.cross, "trying again: " + f.phrase(), nil})
	}
	given := map[string]bool{"": true}
	for _, g := range s.view.alike() {
		it := item{g.event.Component, Warning, spin, g.line(now), nil}
		if g.blocked() {
			it.tone, it.sign = Bad, s.style.cross
		}
		help := g.help(now)
		if text := remedy.Join(help); !given[text] {
			given[text], it.help = true, help
		}
		all = append(all, it)
	}
	if len(all) == 0 {
		all = append(all, item{"", neutral, spin, "looking at the cluster", nil})
	}
	return all
}

// block returns an item behind its sign, over as many lines as it needs.
func (s *screen) block(it item, indent string, width int) []string {
	var lines []string
	sign := s.style.paint(it.tone, it.sign)
	for _, l := range s.style.fold(it.text, width-2-len(indent)) {
		lines = append(lines, indent+sign+" "+s.style.paint(it.tone, l))
		sign = " "
	}
	if len(it.help) == 0 {
		return lines
	}
	for _, l := range s.style.advise("to unblock: ", it.help, width-2-len(indent)) {
		lines = append(lines, indent+"  "+l)
	}
	return lines
}

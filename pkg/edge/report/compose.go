package report

import (
	"fmt"
	"strings"
	"time"
)

// atLeast is how many lines are kept for gates. In a terminal that is too low for
// everything, the numbers are left out.
const atLeast = 4

// compose returns the live lines: the cluster, how far each component is, the steps under way, and
// the gates, with their reason, their age and what can be done.
func (s *screen) compose(now time.Time, width, height int) []string {
	lines := s.header(now, width)
	doing := s.doing(now, width)
	if len(lines)+len(s.view.rows)+len(doing)+atLeast <= height {
		for _, r := range s.view.rows {
			lines = append(lines, s.row(r, width))
		}
	} else {
		lines = lines[:1]
	}
	lines = append(lines, doing...)
	lines = append(lines, s.awaited(now, width, height-len(lines))...)
	if len(lines) > height {
		lines = lines[:max(height, 1)]
	}
	return lines
}

func (s *screen) header(now time.Time, width int) []string {
	parts := []string{s.view.target()}
	if s.view.action != "" {
		parts = append(parts, Clean(s.view.action))
	}
	parts = append(parts, age(now.Sub(s.view.start)))
	// The spinner only shows that the process runs. This says for how long nothing
	// else has changed.
	if d := s.view.quiet(now); d >= s.quiet {
		parts = append(parts, "no change for "+age(d))
	}
	lines := s.style.fold(strings.Join(parts, s.style.dot), width)
	for i := range lines {
		lines[i] = s.style.paint(bold, lines[i])
	}
	return lines
}

func (s *screen) row(r row, width int) string {
	t := neutral
	switch {
	case s.blocks(r):
		t = Bad
	case r.settled():
		t = Good
	}
	pad := 0
	for _, other := range s.view.rows {
		pad = max(pad, len(other.title()))
	}
	text := fmt.Sprintf("%-*s  %s", pad, r.title(), r.numbers())
	return s.style.paint(t, s.style.mark(t)) + " " + s.style.cut(s.style.legible(text), width-2)
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

// doing lists the steps under way and those that fail.
func (s *screen) doing(now time.Time, width int) []string {
	spin := s.style.frame(now)
	var lines []string
	for _, st := range s.view.steps {
		text := Clean(st.text)
		if a := took(now.Sub(st.since)); a != "" {
			text += a
		}
		lines = append(lines, s.block(neutral, spin, text, width)...)
	}
	for _, f := range s.view.failures {
		lines = append(lines, s.block(Bad, s.style.cross, "trying again: "+f.phrase(), width)...)
	}
	if len(lines)+len(s.view.gates) == 0 {
		lines = append(lines, s.block(neutral, spin, "looking at the cluster", width)...)
	}
	return lines
}

// awaited lists the gates. Those that do not fit into the height are counted: a screen that is
// taller than the terminal cannot be redrawn.
func (s *screen) awaited(now time.Time, width, height int) []string {
	var lines []string
	hint := ""
	for i, g := range s.view.gates {
		t, sign := Warning, s.style.frame(now)
		if g.blocked() {
			t, sign = Bad, s.style.cross
		}
		b := s.block(t, sign, g.word()+": "+g.text()+" "+g.times(now), width)
		if h := g.help(now); h != "" && h != hint {
			hint = h
			for _, l := range s.style.fold("to unblock: "+h, width-2) {
				b = append(b, "  "+l)
			}
		}
		rest := len(s.view.gates) - i
		room := height - len(lines)
		if rest > 1 {
			room-- // for the line that counts the rest
		}
		if len(b) > room && i > 0 {
			return append(lines, fmt.Sprintf("  and %d more", rest))
		}
		lines = append(lines, b...)
	}
	return lines
}

// block is a text behind a sign, over as many lines as it needs.
func (s *screen) block(t Tone, sign, text string, width int) []string {
	lines := s.style.fold(text, width-2)
	for i, l := range lines {
		lead := "  "
		if i == 0 {
			lead = s.style.paint(t, sign) + " "
		}
		lines[i] = lead + s.style.paint(t, l)
	}
	return lines
}

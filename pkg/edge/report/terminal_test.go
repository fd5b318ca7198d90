package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// glass is a terminal of a few rows: it follows the escape sequences, breaks long lines, scrolls,
// and fails the test at an unknown sequence. Sequences for colours stay in the text if keep is set.
type glass struct {
	t             testing.TB
	width, height int
	keep          bool

	scrolled []string // rows that left at the top
	colour   string   // a sequence that waits for the next cell
	rows     [][]string
	x, y     int
}

func newGlass(t testing.TB, width, height int) *glass {
	g := &glass{t: t, width: width, height: height}
	g.rows = make([][]string, height)
	return g
}

func (g *glass) Write(b []byte) (int, error) {
	for s := string(b); s != ""; {
		r, n := utf8.DecodeRuneInString(s)
		switch r {
		case '\x1b':
			n = g.escape(s)
		case '\n':
			g.x = 0
			g.down()
		case '\r':
			g.x = 0
		default:
			g.put(string(r))
		}
		s = s[n:]
	}
	return len(b), nil
}

func (g *glass) put(cell string) {
	if g.x == g.width {
		g.x = 0
		g.down()
	}
	row := g.rows[g.y]
	for len(row) <= g.x {
		row = append(row, " ")
	}
	row[g.x] = g.colour + cell
	g.colour = ""
	g.rows[g.y] = row
	g.x++
}

func (g *glass) down() {
	if g.y++; g.y == g.height {
		g.scrolled = append(g.scrolled, strings.TrimRight(strings.Join(g.rows[0], ""), " "))
		g.rows = append(g.rows[1:], nil)
		g.y--
	}
}

func (g *glass) escape(s string) int {
	end := strings.IndexAny(s, "AJKm")
	if end < 0 {
		g.t.Fatalf("unknown sequence %q", s)
	}
	switch s[end] {
	case 'A':
		var n int
		if _, err := fmt.Sscanf(s, "\x1b[%dA", &n); err != nil || n > g.y {
			g.t.Fatalf("cursor in row %d sent up by %q: %v", g.y, s[:end+1], err)
		}
		g.y -= n
	case 'K':
		g.erase()
	case 'J':
		g.erase()
		clear(g.rows[g.y+1:])
	case 'm':
		if g.keep && g.x > 0 && s[:end+1] == "\x1b[0m" {
			g.rows[g.y][g.x-1] += s[:end+1]
		} else if g.keep {
			g.colour += s[:end+1]
		}
	}
	return end + 1
}

func (g *glass) erase() {
	if len(g.rows[g.y]) > g.x {
		g.rows[g.y] = g.rows[g.y][:g.x]
	}
}

// String returns all rows, also those that have scrolled out.
func (g *glass) String() string {
	lines := append([]string(nil), g.scrolled...)
	for _, r := range g.rows {
		lines = append(lines, strings.TrimRight(strings.Join(r, ""), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

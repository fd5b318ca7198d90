package report

import (
	"time"

	"github.com/briandowns/spinner"
	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// frameEvery is the time between two frames of the spinner. It is short enough to look like movement, and long
// enough for a slow connection.
const frameEvery = 100 * time.Millisecond

// style is what a terminal can show.
type style struct {
	colour bool
	ascii  bool

	check, cross, note, dot, ellipsis string
	frames                            []string
}

// Only the frames of the spinner library are used. The library animates one line, from a goroutine. It cannot draw a
// screen of several lines in a single write, with lasting lines above.
func newStyle(o Options) style {
	s := style{
		colour: !o.NoColor, ascii: o.ASCII,
		check: "✓", cross: "✗", note: "!", dot: " · ", ellipsis: "…", frames: spinner.CharSets[14],
	}
	if o.ASCII {
		s.check, s.cross, s.dot, s.ellipsis, s.frames = "+", "x", " - ", "..", spinner.CharSets[9]
	}
	return s
}

// frame returns the frame of the spinner at a time. It depends on the clock and not on the number
// of redraws, which come with every event.
func (s style) frame(now time.Time) string {
	return s.frames[int(now.UnixMilli()/frameEvery.Milliseconds())%len(s.frames)]
}

var codes = map[Tone]string{
	Good: "\x1b[32m", Warning: "\x1b[33m", Bad: "\x1b[31m", dim: "\x1b[2m", bold: "\x1b[1m",
}

func (s style) paint(t Tone, text string) string {
	code := codes[t]
	if !s.colour || code == "" || text == "" {
		return text
	}
	return code + text + "\x1b[0m"
}

// legible replaces what the terminal cannot show.
func (s style) legible(text string) string {
	if s.ascii {
		return ascii(text)
	}
	return text
}

// mark returns a tone's sign, for readers who do not see colours.
func (s style) mark(t Tone) string {
	switch t {
	case Good:
		return s.check
	case Bad:
		return s.cross
	case Warning:
		return s.note
	}
	return " "
}

// fold breaks a text into lines of a width, all but the first indented. What still does not fit, which is a single
// long word, is cut, because a longer line could not be redrawn.
func (s style) fold(text string, width int) []string {
	text = s.legible(text)
	if twwidth.Width(text) <= width {
		return []string{text}
	}
	lines := wrap(text, width, "  ")
	for i, l := range lines {
		lines[i] = s.cut(l, width)
	}
	return lines
}

// advise returns what a person can do in lines of a width, with a lead before it. Only commands are longer than the
// width.
func (s style) advise(lead string, all []remedy.Advice, width int) []string {
	lines := advise(s.legible(lead), all, width)
	for i, l := range lines {
		lines[i] = s.legible(l)
	}
	return lines
}

// cut shortens what is too wide. The library would add the ellipsis also to
// what fits.
func (s style) cut(text string, width int) string {
	if twwidth.Width(text) <= width {
		return text
	}
	return twwidth.Truncate(text, width, s.ellipsis)
}

package report

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

var update = flag.Bool("update", false, "write the golden files again")

func TestMain(m *testing.M) {
	flag.Parse()
	// The width of a few signs depends on the locale in which the tests run.
	twwidth.SetEastAsian(false)
	m.Run()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and review\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

// hand is a clock that is moved by hand.
type hand struct{ t time.Time }

func (h *hand) now() time.Time { return h.t }

// play gives the events of a stream to a format as Printer does, on a clock of its own, until a
// time. At each time in pause it calls look.
func play(s stream, o Options, until time.Duration, pause []time.Duration, look func(time.Duration)) {
	clock := &hand{dawn}
	o.Now = clock.now
	if o.Heartbeat == 0 {
		o.Heartbeat = 30 * time.Second
	}
	o.Context, o.Namespace, o.Cluster, o.Action = "prod-eu", "tidb", "basic", "upgrade to v8.5.2"
	f := newFormat(o)
	next := dawn.Add(f.tick(dawn))
	for end := dawn.Add(until); ; {
		at := next
		if len(s) > 0 && s[0].Time.Before(at) {
			at = s[0].Time
		}
		if len(pause) > 0 && dawn.Add(pause[0]).Before(at) {
			look(pause[0])
			pause = pause[1:]
			continue
		}
		if at.After(end) {
			break
		}
		clock.t = at
		for len(s) > 0 && !s[0].Time.After(at) {
			f.event(s[0])
			s = s[1:]
		}
		next = at.Add(f.tick(at))
	}
	f.close(clock.t)
}

func TestPlain(t *testing.T) {
	for name, s := range map[string]stream{
		"converged": converged(), "timed-out": timedOut(), "blocked": blocked(),
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			play(s, Options{ErrOut: &b}, 6*time.Minute, nil, nil)
			golden(t, name+".plain", b.String())
		})
	}
}

func TestPlainASCII(t *testing.T) {
	s := upgrade()
	s[len(s)-1].Observed = "noch 340 übrig"
	var b bytes.Buffer
	play(s, Options{ErrOut: &b, ASCII: true}, 80*time.Second, nil, nil)
	if i := strings.IndexFunc(b.String(), func(r rune) bool { return r > 127 }); i >= 0 {
		t.Errorf("not ASCII: %s", b.String()[i:])
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	play(converged(), Options{Out: &b, Mode: JSON}, 3*time.Minute, nil, nil)
	golden(t, "converged.json", b.String())
}

// scene is a stream, and when the screen is looked at.
type scene struct {
	stream stream
	pause  []time.Duration
}

func scenes() map[string]scene {
	sec := time.Second
	return map[string]scene{
		"rollout":   {converged(), []time.Duration{0, 4 * sec, 12 * sec, 70 * sec, 100 * sec}},
		"timed-out": {timedOut(), []time.Duration{200 * sec}},
		"blocked":   {blocked(), []time.Duration{10 * sec, 16500 * time.Millisecond}},
		"unread":    {unread(), []time.Duration{75 * sec, 115 * sec, 135 * sec}},
		"crowd":     {crowd(), []time.Duration{15 * sec}},
	}
}

// seen returns what a terminal shows in a scene.
func seen(t *testing.T, sc scene, width, height int, o Options) string {
	t.Helper()
	g := newGlass(t, width, height)
	g.keep = !o.NoColor
	var b strings.Builder
	look := func(at time.Duration) { fmt.Fprintf(&b, "--- after %s\n%s", at, g) }
	o.Mode, o.ErrOut, o.Size = TTY, g, func() (int, int) { return width, height }
	until := max(sc.pause[len(sc.pause)-1], sc.stream[len(sc.stream)-1].Time.Sub(dawn))
	play(sc.stream, o, until+time.Second, sc.pause, look)
	b.WriteString("--- at the end\n" + g.String())
	return b.String()
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestScreen: what a user sees in terminals of three widths. With colours it is the same text.
func TestScreen(t *testing.T) {
	for name, sc := range scenes() {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, width := range []int{40, 80, 200} {
				plain, coloured := seen(t, sc, width, 24, Options{NoColor: true}), seen(t, sc, width, 24, Options{})
				fmt.Fprintf(&b, "====== %d columns\n%s", width, plain)
				if !colours.MatchString(coloured) || colours.ReplaceAllString(coloured, "") != plain {
					t.Errorf("at %d columns the text with colours differs:\n%s", width, coloured)
				}
				for line := range strings.Lines(plain) {
					if n := twwidth.Width(strings.TrimSuffix(line, "\n")); n > width {
						t.Errorf("%d columns: %q", n, line)
					}
				}
			}
			golden(t, name+".tty", b.String())
		})
	}
}

// TestCommandsStayWhole: what a screen writes has every command in one piece, in each width and with
// colours, so that it can be copied and pasted.
func TestCommandsStayWhole(t *testing.T) {
	commands := []string{blocked()[len(blocked())-2].Remedy[0].Command, blocked()[len(blocked())-2].Remedy[1].Command, podReady.Remedy[0].Command}
	for _, width := range []int{20, 40, 80, 200} {
		for _, noColor := range []bool{true, false} {
			var b bytes.Buffer
			o := Options{Mode: TTY, ErrOut: &b, NoColor: noColor, Size: func() (int, int) { return width, 40 }}
			play(blocked(), o, 20*time.Second, nil, nil)
			o.ErrOut = &b
			s := upgrade()
			stuck := podReady
			stuck.Type, stuck.Message = event.Blocked, "basic-pd-2 not serving: image cannot be pulled"
			s.at(70*time.Second, stuck)
			s.done(71*time.Second, event.OutcomeBlocked, 3, "", podReady.Remedy...)
			play(s, o, 80*time.Second, nil, nil)
			for _, c := range commands {
				if n := strings.Count(b.String(), c); n < 2 { // while it runs, and at the end
					t.Errorf("%d columns, no colour %t: %d times %s", width, noColor, n, c)
				}
			}
		}
	}
}

// TestScreenOfATerminal: other properties of a terminal than its width.
func TestScreenOfATerminal(t *testing.T) {
	at := func(s stream, after ...time.Duration) scene { return scene{s, after} }
	for name, got := range map[string]string{
		"colour": seen(t, at(converged(), 70*time.Second), 80, 24, Options{}),
		"ascii":  seen(t, at(converged(), 70*time.Second), 80, 24, Options{NoColor: true, ASCII: true}),
		"low":    seen(t, at(many(), 15*time.Second), 80, 12, Options{NoColor: true}),
		"tiny":   seen(t, at(upgrade(), 70*time.Second), 20, 5, Options{NoColor: true}),
	} {
		golden(t, name+".tty", got)
	}
}

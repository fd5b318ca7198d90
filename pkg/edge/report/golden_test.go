package report

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
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

func TestScreen(t *testing.T) {
	sec := time.Second
	for _, tc := range []struct {
		name          string
		stream        stream
		width, height int
		opts          Options
		pause         []time.Duration
	}{
		{"converged", converged(), 80, 24, Options{NoColor: true}, []time.Duration{0, 4 * sec, 12 * sec, 70 * sec, 100 * sec}},
		{"colour", converged(), 80, 24, Options{}, []time.Duration{70 * sec}},
		{"ascii", converged(), 80, 24, Options{NoColor: true, ASCII: true}, []time.Duration{70 * sec}},
		{"narrow", timedOut(), 40, 24, Options{NoColor: true}, []time.Duration{12 * sec, 70 * sec}},
		{"timed-out", timedOut(), 80, 24, Options{NoColor: true}, []time.Duration{200 * sec}},
		{"blocked", blocked(), 80, 12, Options{NoColor: true}, []time.Duration{10 * sec, 16500 * time.Millisecond}},
		{"crowd", crowd(), 80, 12, Options{NoColor: true}, []time.Duration{15 * sec}},
		{"tiny", upgrade(), 20, 5, Options{NoColor: true}, []time.Duration{70 * sec}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newGlass(t, tc.width, tc.height)
			g.keep = !tc.opts.NoColor
			var b strings.Builder
			look := func(at time.Duration) { fmt.Fprintf(&b, "--- after %s\n%s", at, g) }
			o := tc.opts
			o.Mode, o.ErrOut, o.Size = TTY, g, func() (int, int) { return tc.width, tc.height }
			play(tc.stream, o, 6*time.Minute, tc.pause, look)
			b.WriteString("--- at the end\n" + g.String())
			golden(t, tc.name+".tty", b.String())
		})
	}
}

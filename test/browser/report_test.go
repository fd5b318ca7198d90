package browser

import (
	"bytes"
	"encoding/base64"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/history"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report/document"
)

var update = flag.Bool("update", false, "write the pictures in docs/images")

const recorded = "../../pkg/edge/report/document/testdata/"

// page writes runs as a page, and returns its address.
func page(t *testing.T, runs []history.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := document.Write(&b, document.HTML, runs); err != nil {
		t.Fatal(err)
	}
	return file(t, b.Bytes())
}

func file(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.html")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

func runs(t *testing.T, name string) []history.Run {
	t.Helper()
	in, err := os.Open(recorded + name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	all, err := document.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// layout is what a page looks like.
type layout struct {
	Rows, Bars, Outside, Scripts, Unlabelled int
	Title, Background                        string
	Wide                                     bool
	Faint                                    []string
}

// measure looks at the timeline and its bars, at what runs over, and at texts whose colour has less
// contrast with what is behind them than WCAG AA asks for.
const measure = `(() => {
	const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(x => x / 255).map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
		return .2126 * r + .7152 * g + .0722 * b; };
	const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (c !== 'rgba(0, 0, 0, 0)') return c; } return 'rgb(255, 255, 255)'; };
	const faint = [...document.querySelectorAll('h1, h1 span, h2, p, strong, dt, dd, th, td, li, summary, footer, .name, .axis span, .soft, .bad')].filter(e => {
		const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((a, b) => b - a);
		return (a + .05) / (b + .05) < 4.5;
	}).map(e => e.tagName + '.' + e.className + ' ' + getComputedStyle(e).color + ' on ' + behind(e));
	const tracks = [...document.querySelectorAll('.track:not(.axis)')], bars = [...document.querySelectorAll('.track b')];
	return {
		Rows: tracks.length, Bars: bars.length, Scripts: document.scripts.length, Title: document.title,
		Outside: bars.filter(b => { const x = b.getBoundingClientRect(), y = b.parentElement.getBoundingClientRect();
			return x.width < 2 || x.left < y.left - 1 || x.right > y.right + 1 || x.top < y.top - 1 || x.bottom > y.bottom + 1; }).length,
		Unlabelled: document.querySelectorAll('table:not(:has(th[scope]))').length + document.querySelectorAll('[role=img]:not([aria-label])').length
			+ document.querySelectorAll('html:not([lang])').length,
		Wide: document.documentElement.scrollWidth > innerWidth, Background: getComputedStyle(document.body).backgroundColor, Faint: [...new Set(faint)],
	};
})()`

// TestReport: the page of a recorded run is all there, asks for nothing, has no script, fits narrow
// windows, and can be read in light and in dark.
func TestReport(t *testing.T) {
	all := runs(t, "upgrade.ndjson")
	url := page(t, all)
	b := open(t)
	rows, bars := 0, 0
	for _, track := range all[0].Tracks() {
		rows++
		bars += len(track.Bars)
	}
	backgrounds := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{1000, 390} {
			b.prefer(scheme, width, 1100)
			b.visit(url)
			var got layout
			b.evaluate(&got, measure)
			if got.Rows != rows || got.Bars != bars || bars < 40 {
				t.Errorf("%s, %d: %d rows and %d bars, want %d and %d", scheme, width, got.Rows, got.Bars, rows, bars)
			}
			if got.Outside+got.Scripts+got.Unlabelled > 0 || got.Wide || len(got.Faint) > 0 || !strings.Contains(got.Title, "converged") {
				t.Errorf("%s, %d: %+v", scheme, width, got)
			}
			for _, c := range b.complaints(url) {
				t.Errorf("%s, %d: %s", scheme, width, c)
			}
			backgrounds[got.Background] = true
			if width > 390 {
				b.picture("../../docs/images/report-"+scheme+".png", width)
			}
		}
	}
	if len(backgrounds) != 2 {
		t.Errorf("light and dark look the same: %v", backgrounds)
	}
}

// picture takes a picture of the upper part of the page, and writes it with -update.
func (b *tab) picture(path string, width int) {
	b.t.Helper()
	var got struct{ Data string }
	b.call(&got, "Page.captureScreenshot", map[string]any{
		"format": "png", "clip": map[string]any{"x": 0, "y": 0, "width": width, "height": 1000, "scale": 1},
	})
	data, err := base64.StdEncoding.DecodeString(got.Data)
	if err != nil || len(data) < 10000 {
		b.t.Errorf("a picture of %d bytes: %v", len(data), err)
	}
	if *update {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestHostileReport: the texts of a page are texts, whatever they have in them.
func TestHostileReport(t *testing.T) {
	text, err := os.ReadFile(recorded + "made-up.html")
	if err != nil {
		t.Fatal(err)
	}
	url := file(t, text)
	b := open(t)
	b.visit(url)
	var got layout
	b.evaluate(&got, measure)
	var links int
	b.evaluate(&links, "document.querySelectorAll('a, iframe, body link, body img').length")
	if got.Scripts+links > 0 || got.Rows != 4 || len(b.complaints(url)) > 0 {
		t.Errorf("%d links, %+v, %q", links, got, b.complaints(url))
	}
}

// TestComplaints: a page that loads something, and one that complains, are found out.
func TestComplaints(t *testing.T) {
	b := open(t)
	for says, body := range map[string]string{
		"asks for http://127.0.0.1:9/x.png": `<img src="http://127.0.0.1:9/x.png">`,
		"Runtime.consoleAPICalled":          `<script>console.log("x")</script>`,
		"Runtime.exceptionThrown":           `<script>nothing()</script>`,
	} {
		url := file(t, []byte("<!DOCTYPE html><html><body>"+body))
		b.visit(url)
		if got := strings.Join(b.complaints(url), "\n"); !strings.Contains(got, says) {
			t.Errorf("%q: want %q", got, says)
		}
	}
}

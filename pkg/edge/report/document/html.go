package document

import (
	_ "embed" // for the page
	"html/template"
	"io"
	"strconv"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/history"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

//go:embed page.html
var text string

// page is the template. It escapes what it is given: messages have texts of servers.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"took": took, "component": component, "clean": report.Clean, "join": remedy.Join, "meaning": meaning,
	"subject": subject, "left": leftOfWait, "result": result,
	"clock":  func(t time.Time) string { return t.UTC().Format("15:04:05") },
	"date":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") },
	"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"number": func(i int) int { return i + 1 },
}).Parse(text))

// view is a run with what the page shows of it.
type view struct {
	history.Run
	Title, Verdict, Next, Tone string
	Parts                      []part
	Todo                       []history.Wait
	Failed                     []history.Step
	Rows                       []row
	Ticks                      []tick
}

// row is a track with its bars in percent.
type row struct {
	Name   string
	Group  string
	Height int
	Bars   []bar
}

type bar struct {
	Left, Width string
	Top         int
	Kind, Text  string
}

type tick struct{ Left, Text string }

// lane is the height of a lane, in pixels.
const lane = 14

var tones = map[report.Tone]string{report.Good: "good", report.Warning: "warning", report.Bad: "bad"}

// html writes one page that needs nothing else: no script, no font, no picture.
func html(w io.Writer, runs []history.Run) error {
	var all []view
	for _, r := range runs {
		v := view{Run: r, Title: title(r), Parts: parts(r.Spent), Todo: remaining(r), Failed: unsolved(r), Ticks: ticks(r.Took())}
		tone, text, next := verdict(r)
		v.Tone, v.Verdict, v.Next = tones[tone], text, next
		if advice := remedy.Join(r.Remedy); advice != "" {
			v.Next = report.Clean(advice)
		}
		for _, t := range r.Tracks() {
			v.Rows = append(v.Rows, rowOf(t))
		}
		all = append(all, v)
	}
	return page.Execute(w, all)
}

func rowOf(t history.Track) row {
	r := row{Name: subject(t.Component, t.Member, ""), Group: report.Clean(t.Component), Height: t.Lanes*lane + 2}
	for _, b := range t.Bars {
		r.Bars = append(r.Bars, bar{percent(b.From), percent(b.To - b.From), b.Lane*lane + 1, kind(b), words(b)})
	}
	return r
}

// kind is the class of a bar.
func kind(b history.Bar) string {
	switch {
	case b.Step != nil && b.Step.Result == history.Failed:
		return "failed"
	case b.Step != nil:
		return "step"
	case b.Wait.Status == history.Blocked:
		return "blocked"
	case b.Wait.Source == event.FromDatabase:
		return "database"
	}
	return "kubernetes"
}

// words is what a bar says when it is pointed at.
func words(b history.Bar) string {
	if s := b.Step; s != nil {
		return report.Clean(s.Text) + " (" + took(s.Took()) + ", " + result(*s) + ")"
	}
	return report.Clean(b.Wait.Message) + " (" + took(b.Wait.Took()) + ", " + string(b.Wait.Status) + ")"
}

func percent(part float64) string { return strconv.FormatFloat(100*part, 'f', 3, 64) + "%" }

// distances are those between the ticks of a time axis.
var distances = []time.Duration{
	time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute,
	30 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
}

// ticks returns at most eight ticks of the time axis of a run.
func ticks(whole time.Duration) []tick {
	every := distances[len(distances)-1]
	for _, d := range distances {
		if whole/d <= 8 {
			every = d
			break
		}
	}
	var all []tick
	for at := time.Duration(0); at <= whole && len(all) < 50; at += every {
		if float64(at) < 0.97*float64(whole) { // its text would be outside
			all = append(all, tick{percent(float64(at) / float64(whole)), at.String()})
		}
	}
	return all
}

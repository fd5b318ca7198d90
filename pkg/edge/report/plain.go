package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// A gate's number gets a new line at most this often. At first that is every few seconds, for people who read the
// log as it is written. Later, when the wait may take hours, it is once a heartbeat.
const (
	numberEvery = 5 * time.Second
	numberSoon  = time.Minute
)

// plain writes a line per change. Every line stands on its own, begins with the
// time in UTC and the event's type, and can be searched for.
type plain struct {
	out       sink
	ascii     bool
	heartbeat time.Duration
	now       func() time.Time
	view      view

	headed bool
	spoke  time.Time // when the latest line was written
	gates  map[target]shown
	rows   map[string]row
	failed map[string]time.Time // when a failure was shown last
}

// shown is what the log has about a gate.
type shown struct {
	at             time.Time
	kind           event.Type
	observed, hint string
}

func showing(g gate, now time.Time) shown {
	return shown{at: now, kind: g.event.Type, observed: g.event.Observed, hint: remedy.Join(g.help(now))}
}

func newPlain(o Options) *plain {
	return &plain{
		out: sink{w: o.ErrOut}, ascii: o.ASCII, heartbeat: o.Heartbeat, now: o.Now,
		view:  newView(o),
		spoke: o.Now(),
		gates: map[target]shown{}, rows: map[string]row{}, failed: map[string]time.Time{},
	}
}

func (p *plain) event(e event.Event) {
	p.view.fold(e)
	p.head(e.Time)
	switch e.Type {
	case event.Planned:
		p.line(e.Time, "planned: "+planned(e))
	case event.Started:
		if p.view.failing(e) == nil { // otherwise it is another attempt
			p.line(e.Time, "started: "+Clean(e.Step))
		}
	case event.Finished:
		p.line(e.Time, "finished: "+Clean(e.Step)+took(seconds(e)))
	case event.Failed:
		p.failure(e)
	case event.Waiting, event.Blocked:
		p.gate(*p.view.gate(e), e.Time)
	case event.Passed:
		delete(p.gates, targetOf(e))
		p.line(e.Time, "passed: "+passed(e))
	case event.Progress:
		p.progress(e)
	case event.Notice:
		p.line(e.Time, "notice: "+notice(e).line())
	case event.Done:
		for i, s := range p.view.summary() {
			lead := "  "
			if i == 0 {
				lead = "done: "
			}
			p.line(e.Time, lead+s.line())
		}
	}
}

// head names the target once, with the date that the other lines lack.
func (p *plain) head(t time.Time) {
	if p.headed || p.view.cluster == "" {
		return
	}
	p.headed = true
	s := t.UTC().Format("2006-01-02 15:04:05 MST") + " " + p.view.target()
	if p.view.action != "" {
		s += ": " + Clean(p.view.action)
	}
	p.write(s)
}

func (p *plain) line(t time.Time, s string) { p.write(t.UTC().Format("15:04:05") + " " + s) }

func (p *plain) write(s string) {
	if p.ascii {
		s = ascii(s)
	}
	p.spoke = p.now()
	p.out.write([]byte(s + "\n"))
}

// failure shows a failure when it is new, and again once a heartbeat.
func (p *plain) failure(e event.Event) {
	f := p.view.failing(e)
	key := f.component + "/" + f.member + "/" + f.text + ": " + f.err
	if at, ok := p.failed[key]; ok && e.Time.Sub(at) < p.heartbeat {
		return
	}
	p.failed[key] = e.Time
	again := "; will be tried again"
	if e.Final {
		again = ""
	}
	p.line(e.Time, "failed: "+f.phrase()+again)
}

// gate shows a gate when it is new or says something else, and a new number
// when one is due.
func (p *plain) gate(g gate, now time.Time) {
	t := targetOf(g.event)
	was, known := p.gates[t]
	is := showing(g, now)
	switch {
	case !known || was.kind != is.kind || was.hint != is.hint:
		s := g.line(now)
		if is.hint != "" {
			s += "; to unblock: " + is.hint
		}
		p.line(now, s)
	case was.observed != is.observed && now.Sub(was.at) >= p.every(g, now):
		p.line(now, g.line(now))
	default:
		return
	}
	p.gates[t] = is
}

func (p *plain) every(g gate, now time.Time) time.Duration {
	if now.Sub(g.since) < numberSoon {
		return min(numberEvery, p.heartbeat)
	}
	return p.heartbeat
}

func (p *plain) progress(e event.Event) {
	i := slices.IndexFunc(p.view.rows, func(r row) bool { return r.Component == e.Component })
	r := p.view.rows[i]
	if was, known := p.rows[e.Component]; known && was == r {
		return
	}
	p.rows[e.Component] = r
	p.line(e.Time, "progress: "+r.title()+" "+r.numbers())
}

// tick shows the numbers that were held back, and writes a heartbeat after a silence.
func (p *plain) tick(now time.Time) time.Duration {
	p.head(now)
	if p.view.end != nil {
		return p.heartbeat
	}
	next := p.heartbeat
	for _, g := range p.view.gates {
		p.gate(g, now)
		if was := p.gates[targetOf(g.event)]; was.observed != g.event.Observed {
			next = min(next, was.at.Add(p.every(g, now)).Sub(now))
		}
	}
	if now.Sub(p.spoke) >= p.heartbeat {
		p.beat(now)
	}
	return min(next, p.heartbeat-now.Sub(p.spoke))
}

// beat says in one line that the process runs and what it does. So the last line of a log answers both.
func (p *plain) beat(now time.Time) {
	for _, st := range p.view.steps {
		p.line(now, "still at it: "+Clean(st.text)+" ("+state.Age(now.Sub(st.since))+")")
	}
	if len(p.view.gates) > 0 {
		g := p.view.gates[0]
		s := "still " + g.line(now)
		if help := remedy.Join(g.help(now)); help != "" {
			s += "; to unblock: " + help
		}
		if n := len(p.view.gates) - 1; n > 0 {
			s += fmt.Sprintf("; and %d more", n)
		}
		p.line(now, s)
		p.gates[targetOf(g.event)] = showing(g, now)
	} else if len(p.view.steps) == 0 {
		p.line(now, "nothing changed for "+state.Age(p.view.quiet(now)))
	}
}

func (p *plain) close(time.Time) {}

func planned(e event.Event) string {
	switch e.Outcome {
	case "converged":
		return "nothing to do: the cluster has converged"
	case "act":
		return "there are changes to make"
	case "wait":
		return "something is under way, waiting for it"
	case "blocked":
		return "blocked, manual action required"
	case "paused":
		return "the cluster is paused"
	case "canary":
		return "a canary waits to be promoted"
	}
	return Clean(e.Outcome)
}

func passed(e event.Event) string {
	s := Clean(e.Message) + took(seconds(e))
	if e.Outcome == event.OutcomeDropped {
		return "no longer waited for: " + s
	}
	return s
}

func notice(e event.Event) said {
	s := said{tone: Warning, text: Clean(e.Message), help: help(e)}
	if who := subject(e); who != "" {
		s.text = Clean(who) + ": " + s.text
	}
	if len(s.help) > 0 {
		s.text += "; "
	}
	return s
}

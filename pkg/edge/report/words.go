package report

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
)

// target names what is driven: context / namespace / cluster.
func (v *view) target() string {
	var parts []string
	for _, s := range []string{v.context, v.namespace, v.cluster} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return Clean(strings.Join(parts, " / "))
}

// subject returns what an event is about; "" for the cluster.
func subject(e event.Event) string {
	if e.Member != "" {
		return e.Member
	}
	return topology.Kind(e.Component).Title()
}

// text returns what does not hold yet, for which member, and what is observed.
func (g gate) text() string {
	who := g.event.Member
	if g.more > 0 {
		who += fmt.Sprintf(" and %d more", g.more)
	}
	return Clean(who + g.state())
}

// state returns the text without the member that it begins with.
func (g gate) state() string { return strings.TrimPrefix(g.event.Message, g.event.Member) }

// line returns the line of a gate.
func (g gate) line(now time.Time) string {
	return g.word() + ": " + g.text() + " " + g.times(now)
}

// word returns the first word of a gate's line.
func (g gate) word() string {
	if g.blocked() {
		return "blocked"
	}
	return "waiting"
}

// usual is how long a wait may last before the remedy is shown. Most waits are shorter, and need no person.
const usual = time.Minute

// help returns what a person can do about a gate, nothing for a short wait.
func (g gate) help(now time.Time) []remedy.Advice {
	if !g.blocked() && now.Sub(g.since) < usual {
		return nil
	}
	return help(g.event)
}

// help returns what a person can do about an event, without control characters.
func help(e event.Event) []remedy.Advice {
	var all []remedy.Advice
	for _, a := range e.Remedy {
		all = append(all, remedy.Advice{Text: Clean(a.Text), Command: Clean(a.Command)})
	}
	return all
}

// times says how long a gate has been closed, and how fast what is left becomes less. It also says how much longer
// the gate can be closed.
func (g gate) times(now time.Time) string {
	s := "(" + state.Age(now.Sub(g.since))
	switch rate, still := g.rate(now); {
	case still > 0:
		s += ", no progress for " + state.Age(still)
	case rate > 0:
		left := float64(*g.event.Left) / rate
		s += pace(g.event.Unit, rate) + ", about " + state.Age(time.Duration(left*float64(time.Second))) + " left"
	}
	if d := g.event.Deadline; d != nil {
		s += ", time limit in " + state.Age(d.Sub(now))
	}
	return s + ")"
}

// pace returns a number per time, with the largest unit of time in which that is a few. It is "" for bytes and
// seconds, of which the remaining time says enough.
func pace(unit string, perSecond float64) string {
	switch {
	case unit == string(plan.Bytes) || unit == string(plan.Seconds):
		return ""
	case perSecond >= 1:
		return fmt.Sprintf(", %.0f/s", perSecond)
	case perSecond*60 >= 1:
		return fmt.Sprintf(", %.0f/min", perSecond*60)
	}
	return fmt.Sprintf(", %.0f/h", perSecond*3600)
}

func (r row) title() string { return topology.Kind(r.Component).Title() }

func (r row) numbers() string {
	return fmt.Sprintf("%s ready, %d/%d updated", r.Serving(), r.Updated, r.Wanted)
}

// phrase describes a step that failed: what, why and how often.
func (f failure) phrase() string {
	s := f.text
	if s == "" {
		s = subject(event.Event{Component: f.component, Member: f.member})
	}
	if s != "" {
		s += ": "
	}
	s += f.err
	if f.times > 1 {
		s += fmt.Sprintf(" (%d times)", f.times)
	}
	return Clean(s)
}

// took returns how long something took, as the end of a line; "" below a second.
func took(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return " (" + state.Age(d) + ")"
}

// seconds returns the duration in an event.
func seconds(e event.Event) time.Duration {
	return time.Duration(e.Seconds * float64(time.Second))
}

var escapes = twwidth.Filter()

// Clean returns text as one line without control characters and without bidi controls. Error messages of servers can
// have line breaks and escape sequences.
func Clean(s string) string {
	s = harmless.Line(escapes.ReplaceAllString(s, ""))
	return strings.Join(strings.Fields(s), " ")
}

// ascii replaces what a terminal without a UTF-8 locale cannot show.
func ascii(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, s)
}

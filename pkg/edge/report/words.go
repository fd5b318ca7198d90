package report

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// target names what is driven: context / namespace / cluster.
func (v *view) target() string {
	var parts []string
	for _, s := range []string{v.context, v.namespace, v.cluster} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return clean(strings.Join(parts, " / "))
}

// subject is what an event is about, as a person says it; "" is the cluster.
func subject(e event.Event) string {
	if e.Member != "" {
		return e.Member
	}
	return topology.Kind(e.Component).Title()
}

// text is what does not hold yet: who, what and how far it has come.
func (g gate) text() string { return clean(g.event.Message) }

// word is how a gate's line begins.
func (g gate) word() string {
	if g.blocked() {
		return "blocked"
	}
	return "waiting"
}

// usual is how long a wait may last before it is worth to say what a person can do:
// most are over sooner, and nobody has to do anything.
const usual = time.Minute

// help is what a person can do about a gate, "" as long as there is no need to.
func (g gate) help(now time.Time) string {
	if !g.blocked() && now.Sub(g.since) < usual {
		return ""
	}
	return clean(g.event.Help())
}

// times says how long a gate has been closed, and how much longer it can be.
func (g gate) times(now time.Time) string {
	s := "(" + age(now.Sub(g.since))
	if d := g.event.Deadline; d != nil {
		s += ", time limit in " + age(d.Sub(now))
	}
	return s + ")"
}

func (r row) title() string { return topology.Kind(r.component).Title() }

func (r row) numbers() string {
	return fmt.Sprintf("%d/%d ready, %d/%d updated", r.ready, r.wanted, r.updated, r.wanted)
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
	return clean(s)
}

// age is a duration as kubectl writes it. Clocks differ: what began in the
// future has just begun.
func age(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }

// took is how long something took, to be appended to a line; "" below a second.
func took(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return " (" + age(d) + ")"
}

// seconds is the duration that an event carries.
func seconds(e event.Event) time.Duration {
	return time.Duration(e.Seconds * float64(time.Second))
}

var escapes = twwidth.Filter()

// clean makes text fit into one line and keeps it from moving the cursor: error
// messages come from servers, with line breaks and whatever else is in them.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, escapes.ReplaceAllString(s, ""))
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

package status

import (
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// view is the JSON form.
type view struct {
	Namespace string        `json:"namespace"`
	Cluster   string        `json:"cluster"`
	Version   string        `json:"version"`
	Outcome   string        `json:"outcome"`
	Suspended []string      `json:"suspended,omitempty"`
	Pause     *pause        `json:"pause,omitempty"`
	Driver    string        `json:"driver,omitempty"`
	Members   []member      `json:"members"`
	Elsewhere []elsewhere   `json:"elsewhere,omitempty"`
	Steps     []string      `json:"steps"`
	Gates     []output.Gate `json:"gates"`
	PD        pd            `json:"pd"`
	Evictions []eviction    `json:"evictions,omitempty"`
	Findings  []finding     `json:"findings,omitempty"`
}

// pause says who has paused the cluster. That is a person, or where the person is not known the tools that have set
// spec.paused.
type pause struct {
	By     string    `json:"by,omitempty"`
	Tools  string    `json:"tools,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	Reason string    `json:"reason,omitempty"`
}

type pd struct {
	Problem string `json:"problem,omitempty"`
	Leader  string `json:"leader,omitempty"`
}

type member struct {
	Component string `json:"component"`
	Name      string `json:"name"`
	Up        bool   `json:"up"`
	Updated   bool   `json:"updated"`
	Unknown   bool   `json:"-"` // whether it is updated is not known
	ID        uint64 `json:"id,omitempty,string"`
	State     string `json:"state"`
	Leaders   *int   `json:"leaders,omitempty"`
	Regions   *int   `json:"regions,omitempty"`
	Version   string `json:"version,omitempty"`
	Node      string `json:"node,omitempty"`
	// Made is when the pod was created; Restarts counts the restarts of its main container.
	Made     *time.Time `json:"made,omitempty"`
	Restarts *int       `json:"restarts,omitempty"`
	Claims   []claim    `json:"claims,omitempty"`
	Trouble  string     `json:"trouble,omitempty"`
	// RestartAsked is when a user has named it to be restarted, until its pod is replaced.
	RestartAsked *time.Time `json:"restartAsked,omitempty"`
	// ReplaceAsked is when a user has named it to get new volumes, until its claims are replaced.
	ReplaceAsked *time.Time `json:"replaceAsked,omitempty"`
	// Config says where the configuration is written in place and the member does not run with what is written. It
	// is "older", or "unknown" where that is not known.
	Config string `json:"config,omitempty"`
}

// claim is a volume of a member. Size is what it has, "" while it has no volume.
type claim struct {
	Name   string `json:"name"`
	Size   string `json:"size,omitempty"`
	Marked bool   `json:"leftOver,omitempty"`
}

type eviction struct {
	StoreID uint64    `json:"storeID,string"`
	Member  string    `json:"member"`
	Since   time.Time `json:"since"`
}

// finding is a change by another user or tool in the database.
type finding struct {
	Reason    string          `json:"reason"`
	Component string          `json:"component"`
	Member    string          `json:"member,omitempty"`
	Text      string          `json:"text"`
	Remedy    []remedy.Advice `json:"remedy,omitempty"`
}

func (l sight) view() view {
	c := l.wanted.Cluster
	v := view{
		Namespace: c.Namespace, Cluster: c.Name, Version: c.Source.Spec.Version,
		Outcome: l.plan.Outcome.String(), Members: l.members(), Steps: []string{}, Gates: output.Gates(l.plan, l.context),
		Elsewhere: l.membersElsewhere(),
		PD:        pd{Problem: l.snapshot.PD.Problem, Leader: l.snapshot.PD.Leader},
	}
	for _, k := range c.Suspended() {
		v.Suspended = append(v.Suspended, string(k))
	}
	if c.Paused {
		v.Pause = &pause{By: c.Pause.By, Since: c.Pause.Since, Until: c.Pause.Until, Reason: c.Pause.Reason}
		if !c.Pause.Recorded {
			v.Pause = &pause{Tools: c.Pause.By}
		}
	}
	if l.driver.Identity != "" {
		v.Driver = l.driver.Describe()
	}
	for _, s := range l.plan.Steps {
		v.Steps = append(v.Steps, s.String())
	}
	for _, e := range l.snapshot.Evictions {
		if !e.Foreign {
			v.Evictions = append(v.Evictions, eviction{e.StoreID, e.Member, e.Since.UTC()})
		}
	}
	for _, f := range l.plan.Notices {
		v.Findings = append(v.Findings, finding{string(f.Reason), string(f.Component), f.Member, f.Text, f.Remedy.In(l.context)})
	}
	return v
}

func (l sight) members() []member {
	out := []member{}
	config := map[string]string{}
	for _, u := range l.plan.Unapplied {
		for _, name := range u.Older {
			config[name] = "older"
		}
		for _, name := range u.Unknown {
			config[name] = "unknown"
		}
	}
	for _, g := range l.wanted.Groups {
		got := l.snapshot.Groups[g.Kind]
		for _, m := range got.Members {
			if m.Pod == nil && !g.InSpec(m.Ordinal) && !got.Set.Has(m.Ordinal) && m.Database.Presence != state.Present {
				continue
			}
			row := member{
				Component: string(m.Kind), Name: m.Name, Up: m.Up(), ID: m.Database.ID, State: word(m),
				Updated: g.Current(got, m), Unknown: g.Set.Drift == desired.Unrendered, Version: version(m), Trouble: m.Trouble(),
				Config: config[m.Name],
			}
			if m.Pod != nil {
				row.Node, row.Restarts = m.Pod.Node, new(m.Pod.Restarts)
				if !m.Pod.Made.IsZero() {
					row.Made = new(m.Pod.Made.UTC())
				}
			}
			for _, c := range m.Claims {
				row.Claims = append(row.Claims, claim{c.Name, size(c.Capacity), c.Marked})
			}
			row.RestartAsked, row.ReplaceAsked = asked(g, m)
			if g.Suspend && m.Pod == nil {
				row.State, row.Trouble = "Suspended", ""
			}
			if m.Kind.Data() == topology.Store && m.Database.Presence == state.Present {
				row.Leaders, row.Regions = numberIfKnown(m.Database.Leaders), numberIfKnown(m.Database.Regions)
			}
			out = append(out, row)
		}
	}
	return out
}

// asked returns when a user has named a member to restart, and to get new volumes. Each is nil where nothing is to do.
func asked(g desired.Group, m state.Member) (restart, replacement *time.Time) {
	if g.Named(m) {
		restart = new(g.Restarts[m.Name].At)
	}
	if g.Replaces(m) {
		replacement = new(g.Replacements[m.Name].At)
	}
	return restart, replacement
}

// version returns the version that a member reports, as releases are written, else the version of the image of its pod.
func version(m state.Member) string {
	v := m.Database.Version
	if v == "" && m.Pod != nil {
		v = m.Pod.Version
	}
	if v != "" && v[0] >= '0' && v[0] <= '9' {
		return "v" + v // as stores report it
	}
	return v
}

func size(n topology.Size) string {
	if n == 0 {
		return ""
	}
	return n.String()
}

// volumes returns the claims with their sizes.
func (m member) volumes() string {
	var all []string
	for _, c := range m.Claims {
		all = append(all, strings.TrimSpace(c.Name+" "+c.Size))
	}
	return strings.Join(all, ", ")
}

// note says what is not as it should be.
func (m member) note() string {
	var all []string
	if m.Trouble != "" {
		all = append(all, m.Trouble)
	}
	switch {
	case m.ReplaceAsked != nil:
		all = append(all, "to be replaced")
	case m.RestartAsked != nil:
		all = append(all, "to be restarted")
	case !m.Updated && !m.Unknown && m.Restarts != nil:
		all = append(all, "to be updated")
	}
	return strings.Join(all, "; ")
}

// numberIfKnown leaves out a number that could not be read.
func numberIfKnown(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// word returns a member's state in one word.
func word(m state.Member) string {
	switch {
	case m.Database.Leader && m.Up():
		return "Leader"
	case m.Database.Primary && m.Up():
		return "Primary"
	case m.Database.Capture.Owner && m.Up():
		return "Owner"
	case m.Database.New && m.Up():
		return "Up" // PD says Down until its first heartbeat
	case m.Database.State != "":
		return string(m.Database.State)
	case m.Up():
		return "Up"
	case m.Pod == nil:
		return "Missing"
	case m.Pod.Terminating:
		return "Terminating"
	case m.Unknown():
		return "Unknown"
	}
	return "Down"
}

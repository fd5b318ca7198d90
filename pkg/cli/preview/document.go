package preview

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/forecast"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
)

// The document of -o json and yaml: docs/how-to/see-what-will-be-done.md describes it.
type document struct {
	Request string `json:"request"`
	// Outcome is what the first decision comes to, and End the one after all steps.
	Outcome string `json:"outcome"`
	End     string `json:"end"`
	// Complete is false where there are more steps than are listed.
	Complete bool       `json:"complete"`
	Notes    []string   `json:"notes,omitempty"`
	Changes  []changed  `json:"changes"`
	Phases   []phaseDoc `json:"phases"`
	// Gates are the gates that are closed now, and EndGates the gates that are closed after all steps.
	Gates    []output.Gate `json:"gates"`
	EndGates []output.Gate `json:"endGates"`
	Totals   totals        `json:"totals"`
	Lasting  []string      `json:"cannotBeTakenBack"`
}

type changed struct {
	Component string `json:"component"`
	Text      string `json:"text"`
	From      string `json:"fromVersion,omitempty"`
	To        string `json:"toVersion,omitempty"`
	Has       int    `json:"members"`
	Wants     int    `json:"wantedMembers"`
	Restarts  int    `json:"restarts"`
	// Replaced is how many members get new volumes, and Spare how many members are added for that and removed again.
	Replaced  int  `json:"replaced,omitempty"`
	Spare     int  `json:"spare,omitempty"`
	Suspended bool `json:"suspended,omitempty"`
	// Batches are the members that restart at the same time, list by list. The field is missing where
	// all restart one at a time.
	Batches [][]string `json:"batches,omitempty"`
	// Pods and Config are the fields that change.
	Pods   []fieldDoc `json:"podTemplate,omitempty"`
	Config []fieldDoc `json:"configuration,omitempty"`
}

// fieldDoc is a field that changes. Hidden: its values are long, or may be secret.
type fieldDoc struct {
	Path   string `json:"path"`
	Old    string `json:"old,omitempty"`
	New    string `json:"new,omitempty"`
	Hidden bool   `json:"hidden,omitempty"`
}

type phaseDoc struct {
	Component string    `json:"component,omitempty"`
	Phase     string    `json:"phase"`
	With      bool      `json:"atTheSameTime,omitempty"`
	Steps     []stepDoc `json:"steps"`
}

type stepDoc struct {
	Action     string    `json:"action"`
	Component  string    `json:"component,omitempty"`
	Member     string    `json:"member,omitempty"`
	Step       string    `json:"step"`
	Disruptive bool      `json:"disruptive,omitempty"`
	Waits      []waitDoc `json:"waits,omitempty"`
}

type waitDoc struct {
	Reason string `json:"reason"`
	Want   string `json:"want"`
}

type totals struct {
	Restarts      map[string]int `json:"restarts"`
	Leaders       number         `json:"leaders"`
	Regions       number         `json:"regions"`
	PDLeaderMoves int            `json:"pdLeaderMoves"`
	// Starting is what pods took last time to be ready, of all pods that restart but StartingUnknown.
	Starting        float64  `json:"startingSeconds"`
	StartingUnknown int      `json:"startingUnknown"`
	Made            []string `json:"claimsMade"`
	Grown           []string `json:"claimsGrown"`
	Deleted         []string `json:"claimsDeleted"`
}

// number is what is known, and of how many stores nothing is known.
type number struct {
	Known   int `json:"known"`
	Unknown int `json:"unknownStores"`
}

// Object returns the document.
func (p Preview) Object() (runtime.Object, error) {
	f := p.Forecast
	d := document{
		Request: p.Action, Outcome: f.First.Outcome.String(), End: f.Last.Outcome.String(), Complete: !f.Cut, Notes: p.Notes,
		Changes: []changed{}, Phases: []phaseDoc{}, Gates: output.Gates(f.First, p.Context), EndGates: output.Gates(f.Last, p.Context), Lasting: list(f.Totals.Lasting),
	}
	for _, c := range p.changes() {
		d.Changes = append(d.Changes, changed{string(c.Component), c.String(), c.From, c.To, c.Has, c.Wants, c.Restarts, c.Replaced, c.Spare, c.Suspended, c.Batches, fieldDocs(c.Pods), fieldDocs(c.Config)})
	}
	for _, ph := range phases(f.Steps) {
		one := phaseDoc{Component: string(ph.Component), Phase: string(ph.Name), With: ph.With}
		for _, s := range ph.Steps {
			one.Steps = append(one.Steps, stepOf(s))
		}
		d.Phases = append(d.Phases, one)
	}
	t := f.Totals
	d.Totals = totals{
		Restarts: map[string]int{}, Leaders: number(t.Leaders), Regions: number(t.Regions), PDLeaderMoves: t.PDLeaderMoves,
		Starting: t.Starting.Seconds(), StartingUnknown: t.StartingUnknown,
		Made: list(t.Made), Grown: list(t.Grown), Deleted: list(t.Deleted),
	}
	for _, c := range t.Restarts {
		d.Totals.Restarts[string(c.Component)] = c.Number
	}
	return output.Object("Plan", p.Wanted.Cluster.Namespace, p.Wanted.Cluster.Name, d)
}

func fieldDocs(fields []render.Field) []fieldDoc {
	var all []fieldDoc
	for _, f := range fields {
		all = append(all, fieldDoc(f))
	}
	return all
}

// list returns an empty list for none: a consumer need not check for null.
func list(all []string) []string { return append([]string{}, all...) }

func stepOf(s forecast.Step) stepDoc {
	k, member := s.Target()
	d := stepDoc{Action: s.Action(), Component: string(k), Member: member, Step: s.String(), Disruptive: s.Disruptive()}
	for _, w := range s.Waits {
		d.Waits = append(d.Waits, waitDoc{string(w.Reason), w.Want})
	}
	return d
}

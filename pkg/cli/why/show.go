package why

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// result is what is known of one member.
type result struct {
	namespace, name, member string
	at                      time.Time // of the observation
	questions               []plan.Question
}

// titles are the headings of the topics.
var titles = map[plan.Topic]string{
	plan.AnyChange: "Any change of the member's component", plan.ByRollout: "Restart",
	plan.ByRepair:  "Recovery: the member is down, and is restarted before all other changes",
	plan.ByScaleIn: "Removal", plan.ByFailover: "Failover: the member is lost, and is replaced by a new one",
	plan.ByReplacement: "Replacement: a user has asked for new volumes",
}

// summary says how many conditions of a topic do not hold.
func summary(q plan.Question) string {
	open := len(q.Open())
	if open == 0 {
		return "all conditions are met"
	}
	return fmt.Sprintf("%d of %s not met", open, remedy.Count(len(q.Answers), "condition", "conditions"))
}

// indent comes before what is said about a condition.
const indent = "      "

// print writes the conditions for people. Sentences are folded to the width, 0 for as long as they are; commands never
// are, so that they can be pasted.
func (r *result) print(out io.Writer, context string, width int) {
	fmt.Fprintf(out, "%s of %s/%s\n", r.member, r.namespace, r.name)
	for _, q := range r.questions {
		fmt.Fprintf(out, "\n%s\n", report.Fold(titles[q.Topic]+" ("+summary(q)+")", width, "  "))
		for _, a := range q.Answers {
			mark := "ok"
			if !a.Met {
				mark = "no"
			}
			fmt.Fprintln(out, report.Fold(fmt.Sprintf("  %s  %s", mark, a.Want), width, indent))
			r.details(out, a, context, width)
		}
	}
}

// details writes what is observed of a condition. For a condition that does not hold, details also writes the reason of
// the condition, and who can change what is observed.
func (r *result) details(out io.Writer, a plan.Answer, context string, width int) {
	say := func(text string) { fmt.Fprintln(out, report.Fold(indent+text, width, indent)) }
	if a.Observed != "" {
		say(a.Observed)
	}
	if !a.Since.IsZero() {
		say("since " + r.ago(a.Since) + r.untilTime(a.Deadline))
	}
	if a.Met {
		return
	}
	if a.Because != "" {
		say("asked for because " + a.Because)
	}
	say("can be changed by: " + string(a.By))
	for _, action := range a.Remedy.In(context) {
		if action.Command == "" {
			say(action.Text)
			continue
		}
		say(cmp.Or(action.Text, "fix it") + ":")
		fmt.Fprintf(out, "%s  %s\n", indent, action.Command)
	}
}

// ago returns a time as how long ago it was.
func (r *result) ago(t time.Time) string {
	return fmt.Sprintf("%s (%s ago)", t.UTC().Format(time.RFC3339), state.Age(r.at.Sub(t)))
}

func (r *result) untilTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", until " + t.UTC().Format(time.RFC3339)
}

// condition is one condition in the document of -o json and yaml.
type condition struct {
	Want     string          `json:"want"`
	Met      bool            `json:"met"`
	Observed string          `json:"observed,omitempty"`
	Because  string          `json:"because,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Since    time.Time       `json:"since,omitzero"`
	Until    time.Time       `json:"until,omitzero"`
	By       string          `json:"by,omitempty"`
	Remedy   []remedy.Advice `json:"remedy,omitempty"`
}

// document returns what -o json and yaml print: the conditions of each topic under its name.
func (r *result) document(context string) (*unstructured.Unstructured, error) {
	document := map[string]any{"member": r.member}
	for _, q := range r.questions {
		all := []condition{}
		for _, a := range q.Answers {
			c := condition{Want: a.Want, Met: a.Met, Observed: a.Observed, Because: a.Because, Reason: string(a.Reason), By: string(a.By)}
			c.Since, c.Until = a.Since, a.Deadline
			if len(a.Remedy) > 0 {
				c.Remedy = a.Remedy.In(context)
			}
			all = append(all, c)
		}
		document[string(q.Topic)] = all
	}
	return output.Object("MemberConditions", r.namespace, r.name, document)
}

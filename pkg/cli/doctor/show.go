package doctor

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// result is what was found of one cluster, and mended.
type result struct {
	namespace, name string
	findings        []finding.Finding
	fixes           []step.Step // what --fix does, if no other process drives the cluster
	budgets         *policyv1.PodDisruptionBudgetList
	fix             bool // --fix was given
	fixed           []mended
}

// summary counts the findings in words.
func (r *result) summary() string {
	one := map[finding.Severity][2]string{
		finding.Error: {"error", "errors"}, finding.Warning: {"warning", "warnings"},
		finding.Unknown: {"thing unknown", "things unknown"}, finding.Info: {"remark", "remarks"},
	}
	var parts []string
	for _, s := range finding.Severities() {
		n := 0
		for _, f := range r.findings {
			if f.Severity == s {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, remedy.Count(n, one[s][0], one[s][1]))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing found")
}

// indent comes before the lines about a finding.
const indent = "    "

// print writes the findings for people. Sentences are folded to the width, 0 for as long as they are;
// commands never are, so that they can be pasted.
func (r *result) print(out io.Writer, context string, width int) {
	for _, m := range r.fixed {
		text := "done: " + m.step
		if m.err != nil {
			text = fmt.Sprintf("failed: %s: %s", m.step, remedy.Text(m.err, context))
		}
		fmt.Fprintln(out, report.Fold(text, width, indent))
	}
	if len(r.fixed) > 0 {
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, report.Fold(fmt.Sprintf("%s/%s: %s", r.namespace, r.name, r.summary()), width, indent))
	for _, f := range r.findings {
		about := cmp.Or(f.Member, f.Component.Title())
		title := strings.TrimRight(fmt.Sprintf("%-9s%s  %s", f.Severity, f.ID, about), " ")
		if width > 0 && len(title) > width {
			title = fmt.Sprintf("%s %s\n%s%s", f.Severity, f.ID, indent, about)
		}
		fmt.Fprintf(out, "\n%s\n", title)
		say := func(text string) {
			fmt.Fprintln(out, report.Fold(indent+text, width, indent))
		}
		say(f.Seen + ".")
		say(f.Matters)
		for _, a := range f.Remedy.In(context) {
			if a.Command == "" {
				say(sentence(a.Text) + ".")
				continue
			}
			say(sentence(cmp.Or(a.Text, "fix it")) + ":")
			fmt.Fprintf(out, "%s  %s\n", indent, a.Command)
		}
		if r.fix && f.Unfixed != "" {
			say("Not fixed by --fix: " + f.Unfixed + ".")
		}
	}
}

// sentence returns a text with an upper-case letter in front.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// view is the JSON form.
type view struct {
	Namespace string      `json:"namespace"`
	Cluster   string      `json:"cluster"`
	Healthy   bool        `json:"healthy"`
	Findings  []found     `json:"findings"`
	Fixed     []fixedStep `json:"fixed,omitempty"`
}

type found struct {
	ID        string          `json:"id"`
	Severity  string          `json:"severity"`
	Component string          `json:"component,omitempty"`
	Member    string          `json:"member,omitempty"`
	Object    string          `json:"object,omitempty"`
	Seen      string          `json:"seen"`
	Matters   string          `json:"matters"`
	Remedy    []remedy.Advice `json:"remedy,omitempty"`
	// Fix is what "doctor --fix" does, Unfixed why it does nothing.
	Fix     []string `json:"fix,omitempty"`
	Unfixed string   `json:"unfixed,omitempty"`
}

type fixedStep struct {
	Step  string `json:"step"`
	Error string `json:"error,omitempty"`
}

func (r *result) document(context string) (*unstructured.Unstructured, error) {
	return Document(r.namespace, r.name, r.findings, r.fixed, context)
}

// Document returns what "doctor -o json" prints.
func Document(namespace, name string, findings []finding.Finding, fixed []mended, context string) (*unstructured.Unstructured, error) {
	v := view{Namespace: namespace, Cluster: name, Healthy: finding.Healthy(findings), Findings: []found{}}
	for _, f := range findings {
		row := found{
			ID: string(f.ID), Severity: string(f.Severity), Component: string(f.Component), Member: f.Member, Object: f.Object,
			Seen: f.Seen, Matters: f.Matters, Remedy: f.Remedy.In(context), Unfixed: f.Unfixed,
		}
		for _, s := range f.Fix {
			row.Fix = append(row.Fix, s.String())
		}
		v.Findings = append(v.Findings, row)
	}
	for _, m := range fixed {
		next := fixedStep{Step: m.step}
		if m.err != nil {
			next.Error = m.err.Error()
		}
		v.Fixed = append(v.Fixed, next)
	}
	return output.Object("ClusterFindings", namespace, name, v)
}

// Package finding looks for what is wrong with a cluster, or will be. That is what a killed run has
// left in PD, what is not as the spec asks for, and what one lost host would cost. Each rule is a
// row of a table, and says what was seen, why that matters and how to mend it.
//
// It is pure, and works out nothing that a plan knows already. What a driver would do, waits for or
// reports is taken from its plan. What could not be read is a finding of its own, since it is not
// known to be healthy.
package finding

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/claim"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Severity says how much a finding matters.
type Severity string

// The severities, the worst first.
const (
	Error   Severity = "error"   // the database, or a part of it, does not serve as it should
	Warning Severity = "warning" // it serves, and will not for ever, or not with one host less
	Unknown Severity = "unknown" // it could not be read, so it is not known to be healthy
	Info    Severity = "info"    // good to know
)

var severities = []Severity{Error, Warning, Unknown, Info}

// Severities returns all severities, the worst first.
func Severities() []Severity { return slices.Clone(severities) }

// Finding is one thing that was found.
type Finding struct {
	ID        ID
	Severity  Severity
	Component topology.Kind // "" for the cluster as a whole
	Member    string        // the pod's name; "" for the component as a whole
	Object    string        // the name of the claim or object that it is about; "" for most
	Seen      string        // what was seen, with its values
	Matters   string        // why it matters
	Remedy    remedy.Remedy // how a person mends it
	// Fix are the steps that mend it and take nothing away that is not ours. There are none where a person has to
	// decide. Unfixed says why.
	Fix     []step.Step
	Unfixed string
}

// Look is what findings are made from.
type Look struct {
	Wanted   desired.State
	Snapshot state.Snapshot
	Plan     plan.Plan
	// Driver is the process that drives the cluster now, "" where none does. What it has in PD for a
	// while is no left-over.
	Driver string
	// DriverUnread says why the driver is not known; "" where the driver is known.
	DriverUnread string
	// DDLPaused is the TiDB server that says that DDL statements of users are paused for an upgrade. It is "" where
	// none says so.
	DDLPaused string
	// LogBackupsUnread says why the tasks of log backup are not known; "" where they are.
	LogBackupsUnread string
	// NodeReports are what Kubernetes reports of the nodes that members run on. A node that was not read is missing.
	NodeReports map[string]state.NodeReport
	// Schedules are the CronJobs of the schedules of backups, and SchedulesUnread why they are not known; "" where they are.
	Schedules       []batchv1.CronJob
	SchedulesUnread string
	// Claims are all claims of the cluster, and ClaimsUnread why they are not known; "" where they are.
	Claims       []claim.Claim
	ClaimsUnread string
	// Budgets are all PodDisruptionBudgets of the namespace, nil where they were not read. BudgetsUnread is why they are
	// not known.
	Budgets       *policyv1.PodDisruptionBudgetList
	BudgetsUnread string
}

// Find returns all findings, the worst first.
func Find(l Look) []Finding {
	var all []Finding
	for _, r := range rules {
		for _, f := range r.find(l) {
			f.ID, f.Severity, f.Matters = r.id, r.severity, r.matters
			if f.Unfixed = cmp.Or(f.Unfixed, r.unfixed); len(f.Fix) > 0 {
				f.Unfixed = ""
			}
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity))
	})
	return all
}

// Fixes returns the steps that mend what may be mended without a person's decision, each once.
func Fixes(all []Finding) []step.Step {
	var steps []step.Step
	for _, f := range all {
		for _, s := range f.Fix {
			if !slices.ContainsFunc(steps, func(o step.Step) bool { return o.String() == s.String() }) {
				steps = append(steps, s)
			}
		}
	}
	return steps
}

// Healthy reports whether nothing was found that asks for anything: what is unknown does.
func Healthy(all []Finding) bool {
	return !slices.ContainsFunc(all, func(f Finding) bool { return f.Severity != Info })
}

// undriven returns a rule for what is a finding only while no process drives the cluster. The
// finding says so. A driver is about to end what is found.
func undriven(find func(Look) []Finding) func(Look) []Finding {
	return func(l Look) []Finding {
		if l.Driver != "" || l.DriverUnread != "" {
			return nil
		}
		why := "; no process drives the cluster"
		if l.Wanted.Cluster.Paused {
			why = "; the cluster is paused"
		}
		all := find(l)
		for i := range all {
			all[i].Seen += why
		}
		return all
	}
}

// steps returns the steps of the plan that are about a component and a member.
func (l Look) steps(k topology.Kind, member string) []step.Step {
	var all []step.Step
	for _, s := range l.Plan.Steps {
		if kind, name := s.Target(); kind == k && name == member {
			all = append(all, s)
		}
	}
	return all
}

// planned returns the steps of one type that the plan has for a member, for a fix. They change nothing
// but records and marks of ours; after step.ForgetFailure the next run removes the replacement.
func planned[S step.Step](l Look, k topology.Kind, member string) []step.Step {
	return slices.DeleteFunc(l.steps(k, member), func(s step.Step) bool { _, same := s.(S); return !same })
}

// members calls with each member of a component that is wanted or exists.
func (l Look) members(with func(g desired.Group, got state.Group, m state.Member)) {
	for _, g := range l.Wanted.Groups {
		got := l.Snapshot.Groups[g.Kind]
		for _, m := range got.Members {
			with(g, got, m)
		}
	}
}

// see returns the command that shows a cluster.
func (l Look) see() remedy.Action {
	return remedy.Run("see what it waits for", l.Wanted.Cluster.Plugin("status"))
}

// drive returns the command that makes the cluster what is asked for. In a paused cluster a run does
// nothing.
func (l Look) drive(text string) remedy.Action {
	if l.Wanted.Cluster.Paused {
		return remedy.Run("end the pause, so that a run can "+text, l.Wanted.Cluster.Plugin("resume"))
	}
	return remedy.Run(text, l.Wanted.Cluster.Plugin("sync"))
}

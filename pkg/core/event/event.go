package event

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// Version is the value of Event.APIVersion. It changes when a field or a type changes its meaning. It does not have to
// change for new fields and new types.
const Version = "kubectl-tidb/v1"

// Type says what an event is about.
type Type string

// The types of events.
const (
	Planned  Type = "planned"  // the first decision: Outcome, before anything is done
	Started  Type = "started"  // a step is about to be taken
	Finished Type = "finished" // a step was taken
	Failed   Type = "failed"   // a step failed; it will be tried again unless Final is set
	Waiting  Type = "waiting"  // a gate is closed: Reason, Message, Observed
	Passed   Type = "passed"   // a gate that was closed is open now, or matters no more
	Blocked  Type = "blocked"  // a gate is closed and only a person can open it
	Progress Type = "progress" // a component's numbers changed
	Notice   Type = "notice"   // something the user should know: Message
	Done     Type = "done"     // the last event: Outcome, ExitCode
)

// Types lists the types of events in the order in which a reader meets them.
func Types() []Type {
	return []Type{
		Planned, Started, Finished, Failed, Waiting, Passed, Blocked, Progress, Notice, Done,
	}
}

// The values of Event.Source: where an awaited fact is read from.
const (
	FromKubernetes = "kubernetes"
	FromDatabase   = "database" // PD, TiKV or TiDB
)

// The values of Event.Outcome on done, one for each exit code, and one for a run that does not wait. On planned it is
// what the first decision came to: converged, act, wait, blocked, paused or canary. On passed it is empty or
// OutcomeDropped.
const (
	OutcomeConverged   = "converged"   // 0
	OutcomeFailed      = "failed"      // 1
	OutcomeUsage       = "usage"       // 2
	OutcomeBlocked     = "blocked"     // 3: refused, or only a person can go on
	OutcomeTimedOut    = "timedOut"    // 4
	OutcomePaused      = "paused"      // 6
	OutcomeCanary      = "canary"      // 6: a canary waits to be promoted
	OutcomeAborted     = "aborted"     // 7: given up, or rolled back
	OutcomeConflict    = "conflict"    // 8: another driver holds the cluster
	OutcomeForbidden   = "forbidden"   // 9
	OutcomeReached     = "reached"     // 0: what "wait" was asked for holds
	OutcomeWritten     = "written"     // 0: --wait=false, and another process carries it out
	OutcomeChanges     = "changes"     // 10: --dry-run --exit-code found something to do
	OutcomeInterrupted = "interrupted" // 130
)

// OutcomeDropped is Event.Outcome of a wait that ends without having been seen to pass. The wait does not matter any
// more, or cannot be seen, for example while PD does not answer.
const OutcomeDropped = "dropped"

// Event is one thing that happened while a cluster was driven. It is flat, one
// struct for all types, so that a consumer needs no schema per type.
type Event struct {
	APIVersion string    `json:"apiVersion"`
	Type       Type      `json:"type"`
	Time       time.Time `json:"time"`

	// Context is the kubeconfig context, empty when run inside a cluster.
	Context   string `json:"context,omitempty"`
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`

	// Request is what a command was asked for, e.g. "upgrade to v8.1.1", on the first event of its
	// run. A daemon is asked for nothing.
	Request string `json:"request,omitempty"`

	// Component is a topology.Kind, such as tikv; Member is a pod's name. Both are empty
	// where an event is about the cluster as a whole.
	Component string `json:"component,omitempty"`
	Member    string `json:"member,omitempty"`

	// Action is the kind of a step, e.g. "EvictLeaders": the same word whatever
	// it is done to, on started, finished and failed. A failure to look at the
	// cluster has none.
	Action string `json:"action,omitempty"`
	// Step says what is done, e.g. "evict region leaders from basic-tikv-2".
	// Component, Member and Step together identify a step.
	Step string `json:"step,omitempty"`
	// Reason names what is waited for, e.g. "LeadersEvicted": one of the reasons of
	// package plan. Component, Member, Object and Reason together identify a gate. On
	// notice it names what the notice is about: one of NoticeReasons.
	Reason string `json:"reason,omitempty"`
	// Object is the claim or the Secret that a gate is about, where there can be several.
	Object string `json:"object,omitempty"`
	// Message is for people. Of a gate it names whom it is about and what does not hold
	// yet, e.g. "basic-tikv-1: leaders not evicted: 340 leaders left"; on passed, what holds
	// now. Observed is the number or state seen last alone, e.g. "340 leaders left".
	Message  string `json:"message,omitempty"`
	Observed string `json:"observed,omitempty"`
	// Left is how much is left until the gate opens, in Unit: leaders, regions or bytes.
	// Both are there, or none.
	Left *int64 `json:"left,omitempty"`
	Unit string `json:"unit,omitempty"`
	// Source is where the awaited fact is read from, on waiting, passed and
	// blocked.
	Source   string     `json:"source,omitempty"`
	Since    *time.Time `json:"since,omitempty"`
	Deadline *time.Time `json:"deadline,omitempty"`
	// Remedy is what a person can do: alternatives, the one to try first in front.
	Remedy []remedy.Advice `json:"remedy,omitempty"`
	// Seconds is how long a step or a wait took, on finished, failed, passed
	// and done.
	Seconds float64 `json:"seconds,omitempty"`

	// Ready, Unknown, Updated and Wanted count a component's members, on progress. Those that
	// could not be asked are unknown, and not ready.
	Ready   *int `json:"ready,omitempty"`
	Unknown int  `json:"unknown,omitempty"`
	Updated *int `json:"updated,omitempty"`
	Wanted  *int `json:"wanted,omitempty"`

	Error string `json:"error,omitempty"`
	// Final is set on failed where the run ends with this failure, so that nothing is tried again.
	Final    bool   `json:"final,omitempty"`
	Outcome  string `json:"outcome,omitempty"`
	ExitCode *int   `json:"exitCode,omitempty"`
}

// Gate is what identifies a gate in the events of one cluster. Gates with the same values are about the same wait.
type Gate struct{ Component, Member, Object, Reason string }

// Gate returns the gate that a waiting, blocked or passed event is about.
func (e Event) Gate() Gate { return Gate{e.Component, e.Member, e.Object, e.Reason} }

// Help returns the event's remedy as one line for people, "" without one.
func (e Event) Help() string { return remedy.Join(e.Remedy) }

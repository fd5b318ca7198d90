// Package step is the closed set of what is done to a cluster. A step is a value that says what a change acts on, and how
// the change is shown. Package plan decides on steps, and package act carries them out.
package step

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Step is one thing to do. Package act has one case for each kind of step. A step
// names what it acts on by identity (UID, store id, member id). If that has changed
// since, the step fails, and does not hit another object.
type Step interface {
	fmt.Stringer
	// Action returns the kind of the step as one word, such as "EvictLeaders". Events and metrics contain
	// the word, so that it may not change.
	Action() string
	// Target is the component and the member acted on; the member is "" for
	// the component as a whole.
	Target() (topology.Kind, string)
	// Disruptive reports whether the step takes redundancy away or cannot be taken back. Such a step must not
	// follow from an old observation.
	Disruptive() bool
	// Quiet reports whether the step is not reported where it succeeds.
	Quiet() bool
}

// Basis is a component's StatefulSet as it was when a step was decided. Each change of the spec, such as the template,
// the partition or the replicas, gives it another generation. A process that stops before its request, for example on a
// laptop that sleeps, may send the request hours later. That may be in the middle of another driver's rollout. Such a
// request must change nothing.
type Basis struct {
	UID        string
	Generation int64
}

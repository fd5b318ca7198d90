package history

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// Run is one run of a command for one cluster.
type Run struct {
	Context, Namespace, Cluster string
	Request                     string // what was asked for; "" where no event says it

	Began, Ended time.Time // the times of the first and of the last event

	// Outcome, ExitCode, Error and Remedy are those of the event done. Outcome is "" if there is
	// none: the process was killed, or it still runs.
	Outcome  string
	ExitCode int
	Error    string
	Remedy   []remedy.Advice

	Components []Numbers // in dependency order
	Steps      []Step    // in the order in which they began
	Waits      []Wait    // in the order in which they were reported first
	Notices    []event.Event
	Spent      Spent
}

// Numbers count the members of a component, as they were reported last. Unknown are those that could
// not be asked, and may be ready.
type Numbers struct {
	Component                       string
	Ready, Unknown, Updated, Wanted int
}

// Take takes the numbers of an event.
func (n *Numbers) Take(e event.Event) {
	n.Unknown = e.Unknown
	for _, number := range []struct{ to, from *int }{{&n.Ready, e.Ready}, {&n.Updated, e.Updated}, {&n.Wanted, e.Wanted}} {
		if number.from != nil {
			*number.to = *number.from
		}
	}
}

// Serving says how many of the wanted members are ready, such as "2/3". It says "?" where that is not
// known of any, and never 0: a user who reads 0 acts as in an outage.
func (n Numbers) Serving() string {
	switch {
	case n.Unknown == 0:
		return fmt.Sprintf("%d/%d", n.Ready, n.Wanted)
	case n.Ready == 0:
		return fmt.Sprintf("?/%d", n.Wanted)
	}
	return fmt.Sprintf("%d/%d (%d unknown)", n.Ready, n.Wanted, n.Unknown)
}

// Result is what has become of a step.
type Result string

// The results of steps.
const (
	Taken  Result = "taken"
	Failed Result = "failed"
	Begun  Result = "not ended" // the events end before the step
)

// Step is a step with all its attempts: one that fails is tried again.
type Step struct {
	Component, Member, Action, Text string

	Began, Ended time.Time // of the first and of the last attempt
	Result       Result
	Attempts     int
	Error        string // of the last attempt that failed
}

// Took returns the time from the first attempt to the end of the last one.
func (s Step) Took() time.Duration { return s.Ended.Sub(s.Began) }

// Status is what has become of a wait.
type Status string

// What can become of a wait.
const (
	Passed  Status = "passed"
	Dropped Status = "dropped" // it was not seen to pass, and nothing waits for it any more
	Waiting Status = "waiting" // until the last event
	Blocked Status = "blocked" // only a person can end it
)

// Wait is the time between two events. The first says that something does not hold, the second that
// it holds.
type Wait struct {
	event.Gate

	Message  string // of the last event in which it did not hold
	Source   string
	Status   Status
	Began    time.Time // may be before the run
	Ended    time.Time
	Remedy   []remedy.Advice
	First    *int64 // how much was left at first, and at last, in Unit
	Last     *int64
	Unit     string
	ended    bool
	reported time.Time
}

// Took returns how long the wait has lasted, also before the run.
func (w Wait) Took() time.Duration { return w.Ended.Sub(w.Began) }

// During returns how long the run has waited.
func (w Wait) During() time.Duration { return w.Ended.Sub(w.reported) }

// Took returns how long the run has lasted.
func (r Run) Took() time.Duration { return r.Ended.Sub(r.Began) }

// LeaderMoves returns the steps that have handed PD's leadership to another member.
func (r Run) LeaderMoves() []Step {
	action := step.MoveLeader{}.Action()
	var moves []Step
	for _, s := range r.Steps {
		if s.Action == action && s.Result == Taken {
			moves = append(moves, s)
		}
	}
	return moves
}

// recent is how long a failure that does not happen again counts. No event says that the failed step
// is not wanted any more.
const recent = 2 * time.Minute

// Unsolved reports whether a step of a run has failed and the failure was not overcome. Then no other
// step came for the same target, and the step failed shortly before the run ended.
func (r Run) Unsolved(s Step) bool {
	if s.Result != Failed || r.Outcome == event.OutcomeConverged || r.Ended.Sub(s.Ended) > recent {
		return false
	}
	for _, other := range r.Steps {
		if other.Component == s.Component && other.Member == s.Member && other.Began.After(s.Ended) {
			return false
		}
	}
	return true
}

// Total is what a run has waited for by one reason.
type Total struct {
	Reason       string
	Times        int
	Sum, Longest time.Duration // in the run; waits at the same time count each
	Slowest      Wait
}

// Reasons returns the totals of all reasons, in the order in which the run met them first.
func (r Run) Reasons() []Total {
	var totals []Total
	at := map[string]int{}
	for _, w := range r.Waits {
		i, known := at[w.Reason]
		if !known {
			i = len(totals)
			at[w.Reason] = i
			totals = append(totals, Total{Reason: w.Reason, Slowest: w})
		}
		t := &totals[i]
		t.Times++
		t.Sum += w.During()
		if w.During() > t.Longest {
			t.Longest, t.Slowest = w.During(), w
		}
	}
	return totals
}

// FailedAttempts returns how many attempts at steps have failed.
func (r Run) FailedAttempts() int {
	n := 0
	for _, s := range r.Steps {
		n += s.Attempts
		if s.Result != Failed {
			n--
		}
	}
	return n
}

// Spent is what the time of a run went into. Waits overlap; each moment counts once, so that the
// parts add up to the whole.
type Spent struct{ Stepping, Database, Kubernetes, Otherwise time.Duration }

// Add adds a time in which steps were under way. Without steps, what is read from the sources was
// awaited in that time.
func (s *Spent) Add(d time.Duration, stepping bool, sources []string) {
	to := &s.Otherwise
	for _, source := range sources {
		if source == event.FromDatabase {
			to = &s.Database
			break
		}
		if source == event.FromKubernetes {
			to = &s.Kubernetes
		}
	}
	if stepping {
		to = &s.Stepping
	}
	*to += d
}

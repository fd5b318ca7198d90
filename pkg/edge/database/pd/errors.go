package pd

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// The kinds of failure. Test with errors.Is.
var (
	// ErrUnreachable: no member could be asked.
	ErrUnreachable = errors.New("PD is unreachable")
	// ErrLeaderUnreachable: members answer and name a leader, which could not be asked. It is also an ErrUnreachable: PD
	// may serve everybody else. errors.As with *LeaderError says which member it is, and why it could not be asked.
	ErrLeaderUnreachable error = leaderUnreachable{}
	// ErrNoLeader: members answer, and none of them leads or names a leader that could not be asked. That is no proof
	// that PD has none: a leader may be among those that do not answer, which Voters tells.
	ErrNoLeader = errors.New("PD has no leader")
	// ErrNotReady: there is a leader, but it cannot answer now (etcd timed out, a member has just restarted, …).
	ErrNotReady = errors.New("PD is not ready")
	// ErrNotBootstrapped: no TiKV store has joined the cluster yet, so PD has no stores and no schedulers.
	ErrNotBootstrapped = errors.New("the cluster is not bootstrapped")
	// ErrRefused: PD has refused the request. To repeat it does not help until something changes.
	ErrRefused = errors.New("PD refused")
	// ErrNotFound: the member, store or scheduler named does not exist. It is also an ErrRefused.
	ErrNotFound = errors.New("not found in PD")
	// ErrIsLeader: the member is the PD leader, and deleting it would leave the cluster without one.
	ErrIsLeader = errors.New("the member is the PD leader")
	// ErrPaused: PD believes that leaders are kept off the store already, and refuses another scheduler for it. It keeps
	// that in the memory of its leader only, and may be wrong. It is also an ErrRefused.
	ErrPaused = errors.New("PD believes that region leaders are kept off the store already")
	// ErrSchedulersNotLoaded: see SchedulersNotLoadedError.
	ErrSchedulersNotLoaded = errors.New("PD has not loaded its schedulers")
)

// StatusError is PD's answer when it is not a success.
type StatusError struct {
	Method, URL string
	Code        int
	// Message is what PD says, by which failures are told apart.
	Message string
	// foreign: the answer has not the shape of PD's, so that its text is not shown.
	foreign bool

	// bootstrapped: the cluster is known to be, whatever the message says.
	bootstrapped bool
}

// Error names the request and what PD said.
func (e *StatusError) Error() string {
	message := ask.Words(e.Message)
	if e.foreign {
		message = ""
	}
	status := strings.TrimSpace(fmt.Sprintf("%d %s", e.Code, http.StatusText(e.Code)))
	return fmt.Sprintf("%s %s: %s", e.Method, e.URL, ask.With(status, message))
}

// Is makes a StatusError that is neither transient nor about bootstrapping an ErrRefused, and a missing object an
// ErrNotFound.
func (e *StatusError) Is(target error) bool {
	switch target {
	case ErrNotBootstrapped:
		return e.notBootstrapped()
	case ErrNotFound:
		return e.objectMissing()
	case ErrPaused:
		return strings.Contains(e.Message, "ErrPauseLeaderTransfer") || strings.Contains(e.Message, "is paused for leader transfer")
	case ErrRefused:
		return e.transient() == nil && !e.notBootstrapped()
	}
	return false
}

// UnavailableError reports that no member has answered a call in time.
type UnavailableError struct {
	// Op is the call, such as "list stores".
	Op string
	// Kind is ErrUnreachable, ErrLeaderUnreachable, ErrNoLeader or ErrNotReady.
	Kind error
	// Waited is how long the call went on trying.
	Waited time.Duration
	// Last is the error of the last attempt.
	Last error
}

// Error names the call, the kind of failure and the last cause.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%s: %v after %v: %v", e.Op, e.Kind, e.Waited.Round(time.Millisecond), e.Last)
}

// Unwrap gives errors.Is and errors.As both the kind and the cause.
func (e *UnavailableError) Unwrap() []error { return []error{e.Kind, e.Last} }

type leaderUnreachable struct{}

func (leaderUnreachable) Error() string { return "PD's leader is unreachable" }

func (leaderUnreachable) Is(target error) bool { return target == ErrUnreachable }

// LeaderError is the leader that members of PD name, and why it could not be asked.
type LeaderError struct {
	Name string
	Err  error
}

// Error names the leader and the cause.
func (e *LeaderError) Error() string {
	return fmt.Sprintf("PD's leader %s cannot be asked: %v", e.Name, e.Err)
}

// Unwrap returns the cause.
func (e *LeaderError) Unwrap() error { return e.Err }

// SchedulersNotLoadedError reports that PD has not loaded its own schedulers yet. This is so for a moment after the
// cluster was bootstrapped. With PD before v7.3 it is so also after each leader change, for seconds and sometimes
// for exactly five minutes. Until then its answers about schedulers are wrong. A scheduler that is deleted then
// comes back, and one that is added then makes PD forget the stores of the scheduler from before. So no change is
// attempted; call again later.
type SchedulersNotLoadedError struct {
	// Running is what PD lists, Configured how many schedulers its configuration enables.
	Running    []string
	Configured int
}

// Error says what is awaited.
func (e *SchedulersNotLoadedError) Error() string {
	return fmt.Sprintf("PD runs %d of %d configured schedulers: waiting for it to load the others, "+
		"which may take five minutes after a leader change before v7.3", len(e.Running), e.Configured)
}

// Unwrap makes errors.Is(err, ErrSchedulersNotLoaded) true.
func (e *SchedulersNotLoadedError) Unwrap() error { return ErrSchedulersNotLoaded }

// transient returns the kind of a failure that passes by itself, or nil when the answer is final. PD reports most of
// these as 500 with the cause in the text only.
func (e *StatusError) transient() error {
	if e.bootstrapped {
		return ErrNotReady
	}
	switch {
	case e.fromProxy():
		return ErrUnreachable
	case e.Code == http.StatusTooManyRequests:
		return ErrNotReady
	case e.Code < http.StatusInternalServerError:
		return nil
	}
	for text, kind := range transientTexts {
		if strings.Contains(e.Message, text) {
			return kind
		}
	}
	if e.Code == http.StatusServiceUnavailable {
		return ErrNoLeader
	}
	return nil
}

// fromProxy reports whether something between us and PD has answered: a service mesh, a load balancer, an API server.
// Such an answer says nothing about PD, and must not count as "no leader". PD itself never answers with 502 or 504, and
// with 503 only with its own text that there is no leader.
func (e *StatusError) fromProxy() bool {
	switch e.Code {
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	case http.StatusServiceUnavailable:
		return !strings.Contains(e.Message, "leader") && !strings.Contains(e.Message, "[PD:")
	}
	return false
}

// transientTexts maps what PD writes into the body of a 500 to the kind of failure it means.
var transientTexts = map[string]error{
	"redirect failed":                  ErrNoLeader,
	"no leader":                        ErrNoLeader,
	"not leader":                       ErrNoLeader,
	"ErrServerNotStarted":              ErrNoLeader,
	"etcdserver: leader changed":       ErrNotReady,
	"etcdserver: request timed out":    ErrNotReady,
	"etcdserver: unhealthy cluster":    ErrNotReady, // a member (re)started less than five seconds ago
	"etcdserver: too many requests":    ErrNotReady,
	"etcdserver: server stopped":       ErrNotReady,
	"context deadline exceeded":        ErrNotReady,
	"transport is closing":             ErrNotReady,
	"etcdserver: re-configuration fai": ErrNotReady, // "…led due to not enough started members"
}

// notBootstrapped goes by the text: PD says it with 500, and with 406 for a scheduler's configuration.
func (e *StatusError) notBootstrapped() bool {
	return !e.bootstrapped &&
		(strings.Contains(e.Message, "ErrNotBootstrapped") || strings.Contains(e.Message, "not bootstrapped"))
}

// routeMissing reports whether this PD does not serve the path. PD answers 404 for that, as for an object that does not
// exist.
func (e *StatusError) routeMissing() bool {
	return e.Code == http.StatusMethodNotAllowed ||
		e.Code == http.StatusNotFound && strings.HasPrefix(e.Message, "404 page not found")
}

// objectMissing reports whether an object does not exist. PD has three forms of that. The first is 404. The second
// is a 500 with etcd's text, for a member deleted by id. The third is a 500 for a scheduler on a store that does not
// exist.
func (e *StatusError) objectMissing() bool {
	return e.Code == http.StatusNotFound && !e.routeMissing() ||
		e.Code == http.StatusInternalServerError &&
			(strings.Contains(e.Message, "etcdserver: member not found") || strings.Contains(e.Message, "ErrStoreNotFound"))
}

package act

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// Stale reports that the cluster has changed since a step was decided. Nothing was
// done; the next observation leads to a new decision.
type Stale struct {
	Object string // e.g. "statefulset basic-tikv"
	Now    string // what was found, e.g. "has 4 replicas, had 3 when this was decided"
}

func (e *Stale) Error() string { return e.Object + " " + e.Now }

// Stale implements reconcile.Outdated: the next attempt may succeed.
func (e *Stale) Stale() bool { return true }

func stale(object, now string, args ...any) error {
	return &Stale{Object: object, Now: fmt.Sprintf(now, args...)}
}

// Foreign reports that an object with the name of one of ours does not belong to the cluster. It
// was not changed.
type Foreign struct {
	Object string
	Owner  string // e.g. "Deployment web"; "" when it has no owner
}

func (e *Foreign) Error() string {
	if e.Owner == "" {
		return e.Object + " exists already and is no part of this cluster, so it was left alone"
	}
	return fmt.Sprintf("%s belongs to %s, so it was left alone", e.Object, e.Owner)
}

// Final implements reconcile.Final: only a person can remove or rename the object.
func (e *Foreign) Final() bool { return true }

// callError is a call to Kubernetes that failed.
type callError struct {
	call string // e.g. "update statefulset basic-tikv"
	err  error
	// final is true if another attempt would fail in the same way.
	final bool
}

func (e *callError) Error() string { return e.call + ": " + e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// Final implements reconcile.Final.
func (e *callError) Final() bool { return e.final }

// failed returns the error of a call that failed. Package denial says whether it is final. An expired
// credential is not, because the next call renews it.
func failed(verb, object string, err error) error {
	return &callError{
		call: verb + " " + object, err: err,
		// For a create NotFound means that the namespace does not exist.
		final: denial.Of(err).Final() || verb == "create" && apierrors.IsNotFound(err),
	}
}

package intent

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// OtherError says that a TidbCluster is not the one that is meant.
type OtherError struct {
	Namespace, Name string
	Want, Got       types.UID // Got is "" where there is none
}

func (e *OtherError) Error() string {
	if e.Got == "" {
		return fmt.Sprintf("there is no TidbCluster %s/%s with the UID %s; nothing was changed", e.Namespace, e.Name, e.Want)
	}
	return fmt.Sprintf("TidbCluster %s/%s has the UID %s, not %s: it is another cluster of that name; nothing was changed", e.Namespace, e.Name, e.Got, e.Want)
}

// Gone reports whether the TidbCluster that is meant is not there, by the error of Load. There is none of its name,
// or one with another UID than was expected.
func Gone(err error) bool {
	_, missing := errors.AsType[*NotFoundError](err)
	_, other := errors.AsType[*OtherError](err)
	return missing || other
}

// NotFoundError says that there is no such TidbCluster.
type NotFoundError struct {
	Namespace, Name string
	Similar         []string // names in the namespace that may be meant
	Elsewhere       []string // other namespaces that have one of that name
	Err             error
}

func (e *NotFoundError) Error() string {
	s := fmt.Sprintf("there is no TidbCluster %q in namespace %q", e.Name, e.Namespace)
	if len(e.Elsewhere) > 0 {
		s += ", but there is one in namespace " + strings.Join(e.Elsewhere, ", ")
	}
	if len(e.Similar) > 0 {
		s += ": did you mean " + strings.Join(e.Similar, " or ") + "?"
	}
	return s
}

func (e *NotFoundError) Unwrap() error { return e.Err }

// Final implements reconcile.Final: a TidbCluster that is deleted while it is driven does not come
// back.
func (e *NotFoundError) Final() bool { return true }

// NoResourceError says that the API server does not know TidbClusters.
type NoResourceError struct{ Err error }

func (e *NoResourceError) Error() string {
	return "this Kubernetes cluster does not know TidbClusters yet"
}

// NoResource returns a *NoResourceError with what a person can do about it.
func NoResource(err error) error {
	return remedy.For(&NoResourceError{Err: err}, remedy.Run("install their definition", remedy.Plugin("", "init")))
}

func (e *NoResourceError) Unwrap() error { return e.Err }

// Final implements reconcile.Final.
func (e *NoResourceError) Final() bool { return true }

// NoComponentError says that a change is about a component that a cluster does not have.
// Nothing was changed.
type NoComponentError struct {
	Namespace, Name string
	Component       topology.Kind
}

func (e *NoComponentError) Error() string {
	return fmt.Sprintf("cluster %s/%s has no %s, so nothing was changed", e.Namespace, e.Name, e.Component.Title())
}

// ConflictError says that an apply would change fields that another manager owns. Nothing was
// changed.
type ConflictError struct {
	Namespace, Name string
	Fields          []OwnedField
	Err             error
}

// OwnedField is a field and who manages it.
type OwnedField struct{ Field, Manager string }

// setBy says who has set the field. A field of ours was set by a command other than apply, such as scale.
func (f OwnedField) setBy() string {
	if f.Manager == FieldManager {
		return "another kubectl tidb command"
	}
	return f.Manager
}

func (e *ConflictError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "apply tidbcluster %s/%s: the manifest would change fields that it has not set before:", e.Namespace, e.Name)
	for _, f := range e.Fields {
		fmt.Fprintf(&b, "\n  %s, set by %s", f.Field, f.setBy())
	}
	b.WriteString("\ngive these fields the values they have, leave them out of the manifest, " +
		"or take them over with --force-conflicts")
	return b.String()
}

func (e *ConflictError) Unwrap() error { return e.Err }

// conflict returns the API server's answer as a ConflictError, if it is one. The
// manager is only in the text: conflict with "kubectl-edit" using …: .spec.x.
func conflict(namespace, name string, err error) (*ConflictError, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil, false
	}
	e := &ConflictError{Namespace: namespace, Name: name, Err: err}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		manager := "another manager"
		if parts := strings.Split(cause.Message, `"`); len(parts) > 2 {
			manager = parts[1]
		}
		e.Fields = append(e.Fields, OwnedField{Field: strings.TrimPrefix(cause.Field, "."), Manager: manager})
	}
	return e, len(e.Fields) > 0
}

// ChangedError says that another writer has changed the fields which the user has seen, before the user's change was
// written. Nothing was changed.
type ChangedError struct {
	Namespace, Name string
	What            string // e.g. "spec.tikv.replicas is 5 now, it was 3"
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("tidbcluster %s/%s has changed since: %s", e.Namespace, e.Name, e.What)
}

// Package denial says what an error of the API server means for the call that got it.
//
// Kubernetes has one code, 403, for causes that need different answers. A permission is missing, or the API server
// has not loaded roles yet. A quota is full, a namespace is being deleted, or an admission webhook refuses. Only the
// text tells them apart. All code that asks whether a call is permitted asks here, so that an error means the same
// wherever it occurs.
package denial

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// Meaning is what an error says about another attempt.
type Meaning string

// The meanings.
const (
	// Passing: another attempt may succeed. Errors that are not the API server's have this meaning too.
	Passing Meaning = "passing"
	// NotLoaded: a permission is missing because the API server does not have a role that a binding names. That
	// passes after a restart of the API server, and stays where nobody has made the role.
	NotLoaded Meaning = "role not loaded"
	// Withdrawn: a permission is missing for a kind of call that has worked in this process less than a minute
	// before. An API server that restarts answers so for a while.
	Withdrawn Meaning = "permission withdrawn"
	// NotPermitted: a permission is missing.
	NotPermitted Meaning = "not permitted"
	// OverQuota: a quota of the namespace does not allow it.
	OverQuota Meaning = "over quota"
	// NamespaceEnds: the namespace is being deleted, so nothing can be created in it.
	NamespaceEnds Meaning = "namespace is being deleted"
	// Denied: an admission webhook or an admission policy does not accept the object.
	Denied Meaning = "denied by admission"
	// Rejected: the object or the request is not valid.
	Rejected Meaning = "not valid"
)

// Final reports whether another attempt fails in the same way until a person changes something.
func (m Meaning) Final() bool { return m == NotPermitted || m == Rejected || m.Refused() }

// Refused reports whether it is no permission that is missing, but something else that a person has to change.
func (m Meaning) Refused() bool { return m == OverQuota || m == NamespaceEnds || m == Denied }

// Permission reports whether a permission is what is missing, also if only for a moment.
func (m Meaning) Permission() bool { return m == NotPermitted || m == NotLoaded || m == Withdrawn }

// texts says what Kubernetes' own texts mean, the first that occurs. An admission webhook may answer with any code.
var texts = []struct {
	text    string
	meaning Meaning
}{
	{"failed calling webhook", Passing},
	{"status unknown for quota", Passing},
	{"denied the request", Denied}, // admission webhook "…" denied the request
	{"denied request", Denied},     // ValidatingAdmissionPolicy '…' with binding '…' denied request
	{"exceeded quota", OverQuota},
	{"failed quota", OverQuota}, // the quota asks for a request or a limit that the object does not set
	{"is being terminated", NamespaceEnds},
	{"violates PodSecurity", Denied},
	{"error looking up service account", Denied},
	{"usage per ", Denied}, // a LimitRange: maximum memory usage per Container is 1Gi
	{"only dynamically provisioned pvc can be resized", Denied},
}

// Of returns what an error means. The error may be wrapped.
func Of(err error) Meaning {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return Passing
	}
	status := answer.Status()
	switch status.Code {
	case http.StatusForbidden, http.StatusBadRequest, http.StatusUnprocessableEntity:
	case http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return Rejected
	default:
		return Passing
	}
	if m, known := OfText(status.Message); known {
		return m
	}
	switch d := status.Details; {
	case status.Code != http.StatusForbidden:
		return Rejected
	case d != nil && d.RetryAfterSeconds > 0:
		return Withdrawn
	case strings.Contains(status.Message, "RBAC: ") && strings.Contains(status.Message, " not found"):
		return NotLoaded
	}
	return NotPermitted
}

// OfText returns what the text of an answer means, if only its text is there, as in an event. It reports whether the text
// is known.
func OfText(message string) (m Meaning, known bool) {
	for _, t := range texts {
		if strings.Contains(message, t.text) {
			return t.meaning, true
		}
	}
	return Passing, false
}

// Missing reports whether a permission is missing, so that what is read with it is left out. It is false for a
// permission that was there a moment ago: what was read with it before must not be forgotten.
func Missing(err error) bool {
	m := Of(err)
	return m == NotPermitted || m == NotLoaded
}

// Advice returns what a person can do about an error in a namespace, nil where that is not known.
func Advice(namespace string, err error) []remedy.Action { return Of(err).Advice(namespace) }

// Advice returns what a person can do in a namespace, nil where that is not known.
func (m Meaning) Advice(namespace string) []remedy.Action {
	switch m {
	case OverQuota:
		return []remedy.Action{
			remedy.Run("see what the quota allows and what uses it", remedy.Kubectl(namespace, "describe", "resourcequota")),
			remedy.Say("have the quota raised, or ask for less"),
		}
	case NamespaceEnds:
		gone := remedy.Say("wait until the namespace is gone, then make it again")
		if namespace == "" {
			return []remedy.Action{gone}
		}
		return []remedy.Action{gone, remedy.Run("see what still keeps it", remedy.Kubectl("", "describe", "namespace", namespace))}
	case Denied:
		return []remedy.Action{remedy.Say("change what the message names, or ask the owner of the webhook or of the policy")}
	}
	return nil
}

// Explain returns an error with its advice, unless it has some already.
func Explain(namespace string, err error) error {
	advice := Advice(namespace, err)
	if len(advice) == 0 || len(remedy.Of(err)) > 0 {
		return err
	}
	return remedy.For(err, advice...)
}

// mark has Of take a missing permission for one that was there before. RetryAfterSeconds is the field in which
// Kubernetes itself says that a call is worth another attempt.
func mark(s *metav1.Status) {
	if s.Details == nil {
		s.Details = &metav1.StatusDetails{}
	}
	s.Details.RetryAfterSeconds = 1
}

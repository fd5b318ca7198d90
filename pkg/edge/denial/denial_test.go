package denial

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

func answer(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: message, Reason: metav1.StatusReasonForbidden}}
}

const (
	user      = `services is forbidden: User "ci" cannot create resource "services" in API group "" in the namespace "db"`
	notLoaded = user + `: RBAC: role.rbac.authorization.k8s.io "driver" not found`
)

func TestOf(t *testing.T) {
	withdrawn := metav1.Status{Code: http.StatusForbidden, Message: user}
	mark(&withdrawn)
	resource := schema.GroupResource{Resource: "services"}
	for _, tt := range []struct {
		name string
		err  error
		want Meaning
	}{
		{"none", nil, Passing},
		{"no connection", errors.New("connection refused"), Passing},
		{"conflict", apierrors.NewConflict(resource, "a", nil), Passing},
		{"too many requests", apierrors.NewTooManyRequests("slow", 1), Passing},
		{"server timeout", apierrors.NewServerTimeout(resource, "get", 1), Passing},
		{"timeout", apierrors.NewTimeoutError("late", 1), Passing},
		{"internal error", apierrors.NewInternalError(errors.New("boom")), Passing},
		{"service unavailable", apierrors.NewServiceUnavailable("etcd"), Passing},
		{"credentials expired", apierrors.NewUnauthorized("expired"), Passing},
		{"webhook is down", answer(http.StatusForbidden, `failed calling webhook "x": connection refused`), Passing},
		{"quota is not known yet", answer(http.StatusForbidden, `services "s6" is forbidden: status unknown for quota: team, resources: count/services`), Passing},
		{"roles are not loaded", answer(http.StatusForbidden, notLoaded), NotLoaded},
		{"several roles are not loaded", answer(http.StatusForbidden, user+`: RBAC: [role "a" not found, clusterrole "b" not found]`), NotLoaded},
		{"no permission", answer(http.StatusForbidden, user), NotPermitted},
		{"no words", apierrors.NewForbidden(resource, "a", errors.New("no")), NotPermitted},
		{"worked before", &apierrors.StatusError{ErrStatus: withdrawn}, Withdrawn},
		{"over quota", answer(http.StatusForbidden, `services "s" is forbidden: exceeded quota: team, requested: count/services=1, used: 5, limited: 5`), OverQuota},
		{"quota asks for limits", answer(http.StatusForbidden, `pods "p" is forbidden: failed quota: team: must specify limits.cpu`), OverQuota},
		{"namespace ends", answer(http.StatusForbidden, `services "s" is forbidden: unable to create new content in namespace db because it is being terminated`), NamespaceEnds},
		{"webhook", answer(http.StatusForbidden, `admission webhook "policy.example" denied the request: no latest tag`), Denied},
		{"webhook with 400", answer(http.StatusBadRequest, `admission webhook "policy.example" denied the request: no latest tag`), Denied},
		{"policy", answer(http.StatusUnprocessableEntity, `statefulsets.apps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`), Denied},
		{"pod security", answer(http.StatusForbidden, `pods "p" is forbidden: violates PodSecurity "restricted:latest": privileged`), Denied},
		{"limit range", answer(http.StatusForbidden, `pods "p" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi`), Denied},
		{"invalid", apierrors.NewInvalid(schema.GroupKind{}, "a", nil), Rejected},
		{"bad request", apierrors.NewBadRequest("no"), Rejected},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Of(tt.err); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if tt.err == nil {
				return
			}
			wrapped := fmt.Errorf("create it: %w", tt.err)
			if got := Of(wrapped); got != tt.want {
				t.Errorf("wrapped %q, want %q", got, tt.want)
			}
			if advised := len(remedy.Of(Explain("db", wrapped))) > 0; advised != tt.want.Refused() {
				t.Errorf("advice %v: %v", advised, Explain("db", wrapped))
			}
		})
	}
}

func TestMissing(t *testing.T) {
	withdrawn := metav1.Status{Code: http.StatusForbidden, Message: user}
	mark(&withdrawn)
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{answer(http.StatusForbidden, user), true},
		{answer(http.StatusForbidden, notLoaded), true}, // a binding of a role that nobody has made is so for ever
		{&apierrors.StatusError{ErrStatus: withdrawn}, false},
		{answer(http.StatusForbidden, "exceeded quota"), false},
		{nil, false},
	} {
		if got := Missing(tt.err); got != tt.want {
			t.Errorf("%v: %v", tt.err, got)
		}
	}
}

func TestAdviceIsNotDoubled(t *testing.T) {
	err := remedy.For(answer(http.StatusForbidden, "exceeded quota"), remedy.Say("ask Alice"))
	if got := remedy.Of(Explain("db", err)).Line(""); got != "ask Alice" {
		t.Error(got)
	}
}

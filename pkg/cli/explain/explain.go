// Package explain adds to errors of Kubernetes' libraries what their reader can do
// about them. It only adds text: the type of an error, and so its exit code, stays.
package explain

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// Error explains an error of a command.
func Error(err error) error {
	switch {
	case err == nil || err.Error() == "":
		return err
	case apierrors.IsUnauthorized(err):
		return remedy.For(fmt.Errorf("%w: the API server does not accept your credentials", err),
			remedy.Say("log in again"), remedy.Run("see which ones are used", view))
	}
	if name, missing := missingNamespace(err); missing {
		return remedy.For(err, remedy.Run("make it", remedy.Kubectl("", "create", "namespace", name)), remedy.Say("give another one with -n"))
	}
	if call, ok := errors.AsType[*url.Error](err); ok {
		return unanswered(server(call.URL), call, err)
	}
	return denial.Explain("", err)
}

// view is the command that shows the kubeconfig's current context.
var view = remedy.Kubectl("", "config", "view", "--minify")

// unanswered explains a call that the API server did not answer.
func unanswered(server string, call *url.Error, err error) error {
	cause := call.Err.Error()
	say := func(text string, actions ...remedy.Action) error { return remedy.For(&restated{text, err}, actions...) }
	switch {
	case untrusted(call):
		return say(fmt.Sprintf("the certificate of the API server %s is not to be trusted: %s", server, cause),
			remedy.Run("check the server and its certificate-authority", view))
	case errors.Is(call, http.ErrSchemeMismatch):
		return say(fmt.Sprintf("the API server %s does not speak HTTPS", server), remedy.Run("check its address", view))
	case strings.Contains(cause, "getting credentials"):
		return say(fmt.Sprintf("cannot get the credentials for the API server %s: %s", server, cause),
			remedy.Run("see how the kubeconfig says to get them", view))
	case unreachable(call):
		return say(fmt.Sprintf("cannot reach the API server %s: %s", server, cause),
			remedy.Run("check its address", view), remedy.Say("check the network to it, such as a VPN or a proxy"))
	}
	return err
}

// restated is an error with another text. The call and its long address in the original do not help
// the user.
type restated struct {
	text string
	err  error
}

func (e *restated) Error() string { return e.text }

func (e *restated) Unwrap() error { return e.err }

func untrusted(err error) bool {
	for _, is := range []func(error) bool{
		is[*tls.CertificateVerificationError], is[x509.UnknownAuthorityError], is[x509.HostnameError], is[x509.CertificateInvalidError],
	} {
		if is(err) {
			return true
		}
	}
	return false
}

func unreachable(err *url.Error) bool {
	return err.Timeout() || is[*net.OpError](err) || is[*net.DNSError](err) || errors.Is(err, context.DeadlineExceeded)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func server(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// missingNamespace returns the name of a namespace that does not exist.
func missingNamespace(err error) (name string, missing bool) {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsNotFound(err) {
		return "", false
	}
	d := status.ErrStatus.Details
	if d == nil || d.Kind != "namespaces" {
		return "", false
	}
	return d.Name, true
}

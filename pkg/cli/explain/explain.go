// Package explain adds to errors of Kubernetes' libraries what their reader can
// do about them. It adds words only: what an error is, and so its exit code,
// stays.
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
)

// Error explains an error of a command.
func Error(err error) error {
	switch {
	case err == nil || err.Error() == "":
		return err
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: the API server does not accept your credentials; log in again, or see which ones "+
			"are used: kubectl config view --minify", err)
	case missingNamespace(err):
		return fmt.Errorf("%w; make it with kubectl create namespace, or give another one with -n", err)
	}
	if call, ok := errors.AsType[*url.Error](err); ok {
		return &unanswered{server: server(call.URL), call: call, err: err}
	}
	return err
}

// unanswered is a call that the API server did not answer. What was to be done
// with the answer, and under which long address, is of no help to the reader.
type unanswered struct {
	server string
	call   *url.Error
	err    error
}

func (e *unanswered) Error() string {
	cause := e.call.Err.Error()
	switch {
	case untrusted(e.call):
		return fmt.Sprintf("the certificate of the API server %s is not to be trusted: %s; "+
			"check the server and its certificate-authority in: kubectl config view --minify", e.server, cause)
	case errors.Is(e.call, http.ErrSchemeMismatch):
		return fmt.Sprintf("the API server %s does not speak HTTPS; check its address in: kubectl config view --minify", e.server)
	case strings.Contains(cause, "getting credentials"):
		return fmt.Sprintf("cannot get the credentials for the API server %s: %s; "+
			"the kubeconfig says how to get them: kubectl config view --minify", e.server, cause)
	case unreachable(e.call):
		return fmt.Sprintf("cannot reach the API server %s: %s; check its address in kubectl config view --minify, "+
			"and the way there, such as a VPN or a proxy", e.server, cause)
	}
	return e.err.Error()
}

func (e *unanswered) Unwrap() error { return e.err }

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

func missingNamespace(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsNotFound(err) {
		return false
	}
	d := status.ErrStatus.Details
	return d != nil && d.Kind == "namespaces"
}

// Package certmanager stands in for the controller of cert-manager, which does not run in the tests.
//
// What a Certificate means is cert-manager's own code: its types, and its package pki, which makes keys
// and certificates of them. The rest is a stand-in. For each Certificate in one namespace that names the
// one Issuer that it knows, it writes the Secret and the conditions, and it does so again when the
// condition Issuing asks for that, as cert-manager's own command "cmctl renew" does.
//
// Left out are Issuers and ClusterIssuers as objects, CertificateRequests and their approval, private keys
// that stay, templates of Secrets, key stores, renewal when the time has come, waiting after a failure,
// the webhook, which checks more than the definition's schema, and the Certificates of everybody else.
package certmanager

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"slices"
	"time"

	cm "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"github.com/cert-manager/cert-manager/pkg/util/pki"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
)

// pause is how long after one look at the Certificates the next one is.
const pause = 500 * time.Millisecond

// Controller issues the Certificates of one namespace that name one Issuer.
type Controller struct {
	certificates dynamic.ResourceInterface
	secrets      corev1client.SecretInterface
	issuer       string
	authority    *x509.Certificate
	key          crypto.Signer
}

// New returns a controller with an authority of its own.
func New(certificates dynamic.Interface, kube kubernetes.Interface, namespace, issuer string) (*Controller, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: issuer},
		NotBefore: now.Add(-time.Minute), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	_, authority, err := pki.SignCertificate(template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the authority: %w", err)
	}
	return &Controller{
		certificates: certificates.Resource(cm.SchemeGroupVersion.WithResource("certificates")).Namespace(namespace),
		secrets:      kube.CoreV1().Secrets(namespace), issuer: issuer, authority: authority, key: key,
	}, nil
}

// Run issues what is asked for until the context ends. What fails is told, and tried again.
func (c *Controller) Run(ctx context.Context, tell func(error)) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := c.look(ctx); err != nil && ctx.Err() == nil {
			tell(err)
		}
	}, pause)
}

// Renew asks for new certificates of all Certificates.
func (c *Controller) Renew(ctx context.Context) error {
	all, err := c.list(ctx)
	if err != nil {
		return err
	}
	for _, cert := range all {
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			got, err := c.certificates.Get(ctx, cert.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			now, err := decode(got)
			if err != nil {
				return err
			}
			set(now, cm.CertificateConditionIssuing, "ManuallyTriggered")
			return c.writeStatus(ctx, now)
		})
		if err != nil {
			return fmt.Errorf("renew %s: %w", cert.Name, err)
		}
	}
	return nil
}

// look issues all certificates that are to be issued now.
func (c *Controller) look(ctx context.Context) error {
	all, err := c.list(ctx)
	if err != nil {
		return err
	}
	for _, cert := range all {
		if !c.due(cert) {
			continue
		}
		if err := c.renew(ctx, cert); err != nil {
			return fmt.Errorf("issue %s: %w", cert.Name, err)
		}
	}
	return nil
}

// Idle reports whether there is no certificate to be issued now.
func (c *Controller) Idle(ctx context.Context) (bool, error) {
	all, err := c.list(ctx)
	return err == nil && !slices.ContainsFunc(all, c.due), err
}

// due reports whether a Certificate is to be issued now.
func (c *Controller) due(cert *cm.Certificate) bool {
	by := cert.Spec.IssuerRef
	ours := by.Group == cm.SchemeGroupVersion.Group && by.Kind == cm.IssuerKind && by.Name == c.issuer
	return ours && (!has(cert, cm.CertificateConditionReady) || has(cert, cm.CertificateConditionIssuing))
}

// renew writes the Secret of a Certificate, and then that it is there.
func (c *Controller) renew(ctx context.Context, cert *cm.Certificate) error {
	data, leaf, err := c.issue(cert)
	if err != nil {
		return err
	}
	if err := c.write(ctx, cert, data); err != nil {
		return err
	}
	begins, ends := metav1.NewTime(leaf.NotBefore), metav1.NewTime(leaf.NotAfter)
	cert.Status.NotBefore, cert.Status.NotAfter = &begins, &ends
	cert.Status.Conditions = slices.DeleteFunc(cert.Status.Conditions, func(s cm.CertificateCondition) bool {
		return s.Type == cm.CertificateConditionIssuing
	})
	set(cert, cm.CertificateConditionReady, "Ready")
	return c.writeStatus(ctx, cert)
}

// issue makes the content of the Secret that a Certificate asks for.
func (c *Controller) issue(cert *cm.Certificate) (map[string][]byte, *x509.Certificate, error) {
	template, err := pki.CertificateTemplateFromCertificate(cert)
	if err != nil {
		return nil, nil, err
	}
	key, err := pki.GeneratePrivateKeyForCertificate(cert)
	if err != nil {
		return nil, nil, err
	}
	text, leaf, err := pki.SignCertificate(template, c.authority, key.Public(), c.key)
	if err != nil {
		return nil, nil, err
	}
	private, err := pki.EncodePrivateKey(key, cert.Spec.PrivateKey.Encoding)
	if err != nil {
		return nil, nil, err
	}
	authority, err := pki.EncodeX509(c.authority)
	if err != nil {
		return nil, nil, err
	}
	return map[string][]byte{corev1.TLSCertKey: text, corev1.TLSPrivateKeyKey: private, cmmeta.TLSCAKey: authority}, leaf, nil
}

func (c *Controller) write(ctx context.Context, cert *cm.Certificate, data map[string][]byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cert.Namespace, Name: cert.Spec.SecretName, Annotations: map[string]string{cm.CertificateNameKey: cert.Name},
		},
		Type: corev1.SecretTypeTLS, Data: data,
	}
	_, err := c.secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = c.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	return err
}

func (c *Controller) list(ctx context.Context) ([]*cm.Certificate, error) {
	found, err := c.certificates.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all []*cm.Certificate
	for i := range found.Items {
		cert, err := decode(&found.Items[i])
		if err != nil {
			return nil, err
		}
		all = append(all, cert)
	}
	return all, nil
}

// decode refuses fields that a Certificate does not have.
func decode(in *unstructured.Unstructured) (*cm.Certificate, error) {
	cert := &cm.Certificate{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(in.Object, cert, true); err != nil {
		return nil, fmt.Errorf("decode certificate %s: %w", in.GetName(), err)
	}
	return cert, nil
}

func (c *Controller) writeStatus(ctx context.Context, cert *cm.Certificate) error {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cert)
	if err != nil {
		return err
	}
	_, err = c.certificates.UpdateStatus(ctx, &unstructured.Unstructured{Object: object}, metav1.UpdateOptions{})
	return err
}

func has(cert *cm.Certificate, kind cm.CertificateConditionType) bool {
	return slices.ContainsFunc(cert.Status.Conditions, func(s cm.CertificateCondition) bool {
		return s.Type == kind && s.Status == cmmeta.ConditionTrue
	})
}

func set(cert *cm.Certificate, kind cm.CertificateConditionType, reason string) {
	now := metav1.Now()
	is := cm.CertificateCondition{
		Type: kind, Status: cmmeta.ConditionTrue, Reason: reason, LastTransitionTime: &now, ObservedGeneration: cert.Generation,
	}
	i := slices.IndexFunc(cert.Status.Conditions, func(s cm.CertificateCondition) bool { return s.Type == kind })
	if i < 0 {
		cert.Status.Conditions = append(cert.Status.Conditions, is)
		return
	}
	cert.Status.Conditions[i] = is
}

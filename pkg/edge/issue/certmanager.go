package issue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// certificates is the resource by which cert-manager is asked for a certificate; its fields are those
// of https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.Certificate.
var certificates = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}

// CertManager has cert-manager issue and renew certificates by an Issuer of cert-manager.
type CertManager struct {
	client  dynamic.ResourceInterface
	cluster topology.Cluster
	issuer  string
	life    time.Duration
}

// NewCertManager returns an issuer that asks the Issuer of this name in the cluster's namespace.
func NewCertManager(client dynamic.Interface, c topology.Cluster, issuer string, life time.Duration) *CertManager {
	return &CertManager{client: client.Resource(certificates).Namespace(c.Namespace), cluster: c, issuer: issuer, life: life}
}

// NoCertManagerError says that there is no cert-manager to ask.
type NoCertManagerError struct{ Err error }

func (e *NoCertManagerError) Error() string {
	return "this Kubernetes cluster has no resource certificates of cert-manager.io"
}
func (e *NoCertManagerError) Unwrap() error { return e.Err }

// Missing asks for the certificates that nobody has asked for yet. It returns the names of their Secrets, which
// cert-manager makes.
func (m *CertManager) Missing(ctx context.Context) ([]string, error) {
	var made []string
	for _, w := range topology.AllCertificates(m.cluster) {
		_, err := m.client.Create(ctx, m.request(w), metav1.CreateOptions{})
		switch {
		case apierrors.IsAlreadyExists(err):
			continue
		case apierrors.IsNotFound(err):
			return made, &NoCertManagerError{err}
		case err != nil:
			return made, fmt.Errorf("make certificate %s/%s: %w", m.cluster.Namespace, w.Secret, err)
		}
		made = append(made, w.Secret)
	}
	return made, nil
}

func (m *CertManager) request(w topology.Certificate) *unstructured.Unstructured {
	usages := []any{"digital signature", "key encipherment"}
	if w.Server {
		usages = append(usages, "server auth")
	}
	if w.Client {
		usages = append(usages, "client auth")
	}
	name := topology.CertificateName(m.cluster)
	if name == "" {
		name = CommonName
	}
	spec := map[string]any{
		"secretName": w.Secret, "commonName": name, "duration": m.life.String(), "usages": usages,
		"subject":    map[string]any{"organizationalUnits": []any{w.Secret}},
		"privateKey": map[string]any{"algorithm": "RSA", "size": int64(keyBits)},
		"issuerRef":  map[string]any{"name": m.issuer, "kind": "Issuer", "group": certificates.Group},
	}
	var names, addresses []any
	for _, n := range w.Names {
		if net.ParseIP(n) != nil {
			addresses = append(addresses, n)
		} else {
			names = append(names, n)
		}
	}
	if len(names) > 0 {
		spec["dnsNames"], spec["ipAddresses"] = names, addresses
	}
	own := map[string]any{}
	for key, value := range m.cluster.Selector() {
		own[key] = value
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": certificates.GroupVersion().String(), "kind": "Certificate",
		"metadata": map[string]any{"namespace": m.cluster.Namespace, "name": w.Secret, "labels": own},
		"spec":     spec,
	}}
}

// Pending returns the certificates that cert-manager has not issued, each with what it says about
// that.
func (m *CertManager) Pending(ctx context.Context) (map[string]string, error) {
	pending := map[string]string{}
	for _, w := range topology.AllCertificates(m.cluster) {
		got, err := m.client.Get(ctx, w.Secret, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue // it was made by others
		}
		if err != nil {
			return nil, fmt.Errorf("read certificate %s/%s: %w", m.cluster.Namespace, w.Secret, err)
		}
		if ready, says := condition(got); !ready {
			pending[w.Secret] = says
		}
	}
	return pending, nil
}

// Asked returns the names of the Certificates of a cluster by which cert-manager was asked. It looks for all
// components that the cluster can have. Other people may have made Certificates with the same names, which do not
// have the cluster's labels. Whether the cluster has TLS, or is still there, does not matter.
func Asked(ctx context.Context, client dynamic.Interface, c topology.Cluster) ([]string, error) {
	c.TLS.Members, c.TLS.SQL = true, true
	ours := labels.SelectorFromSet(c.Selector())
	var asked []string
	for _, w := range topology.AllCertificates(c) {
		got, err := client.Resource(certificates).Namespace(c.Namespace).Get(ctx, w.Secret, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err): // also where there is no cert-manager
			continue
		case err != nil:
			return nil, fmt.Errorf("read certificate %s/%s: %w", c.Namespace, w.Secret, err)
		}
		if ours.Matches(labels.Set(got.GetLabels())) {
			asked = append(asked, w.Secret)
		}
	}
	return asked, nil
}

// condition returns the condition Ready of a Certificate, and its message.
func condition(got *unstructured.Unstructured) (ready bool, says string) {
	list, _, err := unstructured.NestedSlice(got.Object, "status", "conditions")
	if err != nil {
		return false, errors.Join(errors.New("its status cannot be read"), err).Error()
	}
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == "Ready" {
			message, _ := c["message"].(string)
			return c["status"] == "True", message
		}
	}
	return false, "cert-manager has not looked at it yet"
}

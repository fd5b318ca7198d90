package observe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tikv"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// credentials are with what members are asked. They are held in memory only, and read again in each
// observation, so that a renewed Secret is used by the next request.
type credentials struct {
	config *tls.Config // nil without TLS, or without a certificate that can be used
	secret string      // what was read: the UID and the version of the Secret
}

// readCertificates reads the Secrets with the cluster's certificates, each by its name. One that
// cannot be read is unknown.
func (o *Observer) readCertificates(ctx context.Context, c topology.Cluster) (map[string]certificate.Secret, credentials) {
	read := map[string]certificate.Secret{}
	var own credentials
	var mu sync.Mutex
	var all errgroup.Group
	for _, w := range topology.Certificates(c) { // a few for each component
		all.Go(func() error {
			got := named(o.changes, secrets+w.Secret, func() (pair, bool) { return o.readCertificate(ctx, c.Namespace, w) })
			mu.Lock()
			defer mu.Unlock()
			read[w.Secret] = got.secret
			if w.Secret == c.ClientSecret() {
				own = got.credentials
			}
			return nil
		})
	}
	_ = all.Wait()
	o.rereadFaulty(c, read)
	return read, own
}

// rereadFaulty has the Secrets read again where a certificate cannot be used. Somebody has to renew that certificate,
// and only a read shows that.
func (o *Observer) rereadFaulty(c topology.Cluster, read map[string]certificate.Secret) {
	if len(certificate.Faults(c, read, o.now())) > 0 {
		o.changes.forget(secrets)
	}
}

// secrets is what names of Secrets begin with in Unchanged.
const secrets = "secret/"

// pair is a Secret and what it is good for.
type pair struct {
	secret      certificate.Secret
	credentials credentials
}

// readCertificate also reports whether the Secret need not be read again as long as nothing changes.
func (o *Observer) readCertificate(ctx context.Context, namespace string, w topology.Certificate) (pair, bool) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	got, err := o.kube.CoreV1().Secrets(namespace).Get(ctx, w.Secret, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return pair{secret: certificate.Secret{Name: w.Secret, Missing: true}}, false
	case denial.Missing(err):
		return pair{secret: certificate.Secret{Name: w.Secret, Unread: fmt.Sprintf("the right to get Secret %s is missing", w.Secret)}}, true
	case err != nil:
		return pair{secret: certificate.Secret{Name: w.Secret, Unread: err.Error()}}, false
	}
	s := certificate.Parse(w.Secret, got.Data, w.WithoutCA)
	if !s.Usable() {
		return pair{secret: s}, false
	}
	shown, _ := tls.X509KeyPair(got.Data[topology.KeyCertificate], got.Data[topology.KeyPrivate]) // what is usable is a pair
	roots := x509.NewCertPool()
	for _, a := range s.Authorities {
		roots.AddCert(a)
	}
	return pair{s, credentials{
		config: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{shown}, MinVersion: tls.VersionTLS12},
		secret: string(got.UID) + " " + got.ResourceVersion,
	}}, true
}

// identify has all requests go to members of this cluster, with these credentials. With others than before, all
// connections are replaced by new ones.
func (o *Observer) identify(c topology.Cluster, own credentials) {
	scheme, of := c.Scheme(), partsOf(c)
	if own.secret == o.credentials.secret && scheme == o.tidb.Scheme && of == o.of {
		return
	}
	o.Close()
	o.credentials, o.urls, o.pd, o.of = own, nil, nil, of
	o.members = dial.Of(o.dialer, c)
	o.http = dial.Client(o.members.DialContext, own.config, readTimeout)
	o.unverified = dial.Client(o.members.DialContext, &tls.Config{InsecureSkipVerify: true}, 0) //nolint:gosec // see askProxies
	o.tikv = tikv.Client{HTTP: o.http, Scheme: scheme}
	o.tidb = tidb.Client{HTTP: o.http, Scheme: scheme}
}

// asked is whose members an observer asks.
type asked struct{ own, pd types.NamespacedName }

func partsOf(c topology.Cluster) asked {
	pd := c.PDPart()
	return asked{types.NamespacedName{Namespace: c.Namespace, Name: c.Name}, types.NamespacedName{Namespace: pd.Namespace, Name: pd.Name}}
}

// HTTP returns what asks the members of a cluster, and the scheme of their addresses. If the cluster has TLS, the
// certificate of the cluster's clients is used.
func (o *Observer) HTTP(ctx context.Context, c topology.Cluster) (*http.Client, string) {
	_, own := o.readCertificates(ctx, c)
	o.identify(c, own)
	return o.http, c.Scheme()
}

package topology

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// TLS says which connections of a cluster use TLS.
type TLS struct {
	// Members: connections between members, and ours to them; both sides show a certificate
	// (spec.tlsCluster.enabled).
	Members bool
	// SQL: connections of SQL clients, who may use TLS (spec.tidb.tlsClient.enabled).
	SQL bool
}

// discoveryTLS reports whether tidb-operator's discovery server is to show a certificate and to ask for one.
func (c Cluster) discoveryTLS() bool {
	tls := c.Source.Spec.TLSCluster
	return c.TLS.Members && tls != nil && tls.EnableDiscoveryMTLS
}

// discoveryStays is why that changes nothing here: the server, and the start scripts that ask the server, must agree.
const discoveryStays = "has no effect: PD starts without a discovery server here, and the discovery server of " +
	"tidb-operator stays as it is, with the start scripts that ask it"

// The keys of a Secret with a certificate. They are also the names of the files in pods that mount the Secret.
const (
	KeyCA          = "ca.crt"
	KeyCertificate = corev1.TLSCertKey
	KeyPrivate     = corev1.TLSPrivateKeyKey
)

// CertificateVolume returns the volume with the certificate of a component's members, e.g. "tikv-tls".
func (k Kind) CertificateVolume() string { return string(k.certified()) + "-tls" }

// certified returns the component whose certificate the members show: a service has that of its component.
func (k Kind) certified() Kind {
	if of, is := k.Serves(); is {
		return of
	}
	return k
}

// CertificateDir returns the directory of a pod in which the files of a volume of certificates are.
func CertificateDir(volume string) string { return "/var/lib/" + volume }

// Scheme returns the scheme of URLs of members.
func (c Cluster) Scheme() string {
	if c.TLS.Members {
		return "https"
	}
	return "http"
}

// MemberURL returns the URL of a port of a member.
func (c Cluster) MemberURL(k Kind, ordinal, port int) string {
	return fmt.Sprintf("%s://%s:%d", c.Scheme(), c.PodHost(k, ordinal), port)
}

// MemberSecret returns the name of the Secret with the certificate that all members of a component
// share, e.g. "basic-tikv-cluster-secret".
func (c Cluster) MemberSecret(k Kind) string { return c.SetName(k.certified()) + "-cluster-secret" }

// ClientSecret returns the name of the Secret with the certificate of clients of members, of which
// this program is one.
func (c Cluster) ClientSecret() string { return c.Name + "-cluster-client-secret" }

// SQLServerSecret returns the name of the Secret with the certificate that TiDB shows SQL clients.
func (c Cluster) SQLServerSecret() string { return c.SetName(TiDB) + "-server-secret" }

// SQLClientSecret returns the name of the Secret with the certificate of SQL clients. own is the Secret that a
// component names instead.
func (c Cluster) SQLClientSecret(own *string) string {
	if own != nil && *own != "" {
		return *own
	}
	return c.SetName(TiDB) + "-client-secret"
}

package render

import (
	"path"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Volumes of certificates, besides the volume of the component itself. A volume "x-tls" is mounted at
// "/var/lib/x-tls".
const (
	clientTLS    = "cluster-client-tls" // of clients of members
	sqlServerTLS = "tidb-server-tls"    // that TiDB shows SQL clients
	sqlClientTLS = "tidb-client-tls"    // of SQL clients
)

// mountCertificate gives the main container a Secret with a certificate, as the next mount and
// volume.
func (comp *component) mountCertificate(volume, secret string) {
	comp.mountCertificateAt(topology.CertificateDir(volume), volume, secret)
}

// mountCertificateAt is mountCertificate for another directory.
func (comp *component) mountCertificateAt(dir, volume, secret string) {
	comp.mounts = append(comp.mounts, readOnly(volume, dir))
	comp.volumes = append(comp.volumes, corev1.Volume{
		Name:         volume,
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}},
	})
}

// mountMemberTLS gives the main container the certificate of its component. If the user asks for
// it, the container also gets the certificate of clients, for tools that are run in the pod.
// Without TLS between members it gives none.
func (comp *component) mountMemberTLS(client *bool) {
	c := comp.cluster
	if !c.TLS.Members {
		return
	}
	comp.mountCertificate(comp.Kind.CertificateVolume(), c.MemberSecret(comp.Kind))
	if client != nil && *client {
		comp.mountCertificate(clientTLS, c.ClientSecret())
	}
}

// certificateKeys are the settings with which a program finds its certificate. They have the names
// of the keys for the CA, the certificate and the private key. One without a name is left out.
func certificateKeys(volume, ca, certificate, private string) []setting {
	return certificateKeysIn(topology.CertificateDir(volume), ca, certificate, private)
}

// certificateKeysIn is certificateKeys for another directory.
func certificateKeysIn(dir, ca, certificate, private string) []setting {
	var keys []setting
	for _, k := range []struct{ name, file string }{
		{ca, topology.KeyCA}, {certificate, topology.KeyCertificate}, {private, topology.KeyPrivate},
	} {
		if k.name != "" {
			keys = append(keys, setting{k.name, path.Join(dir, k.file)})
		}
	}
	return keys
}

// tidbTLS are the settings of TiDB for TLS. A client of TiProxy keeps its session when its
// connection moves to another server: that server trusts the session by a signature.
func tidbTLS(c topology.Cluster) []setting {
	var keys []setting
	if c.TLS.Members {
		volume := topology.TiDB.CertificateVolume()
		keys = certificateKeys(volume, "security.cluster-ssl-ca", "security.cluster-ssl-cert", "security.cluster-ssl-key")
		if proxy := c.Source.Spec.TiProxy; proxy != nil && proxy.Replicas != 0 {
			keys = append(keys, certificateKeys(volume, "", "security.session-token-signing-cert", "security.session-token-signing-key")...)
		}
	}
	if c.TLS.SQL {
		ca := "security.ssl-ca"
		if c.Source.Spec.TiDB.TLSClient.DisableClientAuthn {
			ca = ""
		}
		keys = append(keys, certificateKeys(sqlServerTLS, ca, "security.ssl-cert", "security.ssl-key")...)
	}
	return keys
}

// statusCheck is the command of a readiness probe that asks TiDB's status port.
func statusCheck(c topology.Cluster) []string {
	return c.TiDBStatusCall("/status", "--fail", "--location")
}

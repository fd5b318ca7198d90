package render

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// sectionTLS is a certificate of TiProxy, with the sections of its configuration that use it.
type sectionTLS struct {
	dir, volume, secret string
	sections            []tlsSection
}

// tlsSection is a section "security.<name>" of TiProxy's configuration.
type tlsSection struct {
	name string
	// ca: the section names the CA; own: the section names a certificate and its private key.
	ca, own bool
	// skip says whether the other side need not show a certificate.
	skip skipping
}

// skipping says whether a section has skip-ca.
type skipping int

const (
	never    skipping = iota // it is what the user has written
	byItself                 // if the user has not written it
	always
)

// keys returns the settings of a section whose certificate is in a directory.
func (s tlsSection) keys(dir string, unset func(string) bool) []setting {
	at := "security." + s.name + "."
	var ca, certificate, private string
	if s.ca {
		ca = at + "ca"
	}
	if s.own {
		certificate, private = at+"cert", at+"key"
	}
	keys := certificateKeysIn(dir, ca, certificate, private)
	if s.skip == always || s.skip == byItself && unset(at+"skip-ca") {
		keys = append(keys, setting{at + "skip-ca", true})
	}
	return keys
}

// tiproxyTLS returns the certificates of TiProxy, in the order of existing pods. The HTTP server of
// TiProxy shows a certificate, and asks for none.
//
// tidb-operator names files for the HTTP server that no pod has, in a cluster with certLayout v1 and
// without TLS between members. Here there are none of these settings.
func tiproxyTLS(c topology.Cluster, proxy *v1alpha1.TiProxySpec) []sectionTLS {
	if proxy.CertLayout == v1alpha1.TiProxyCertLayoutV1 {
		return tiproxyTLSV1(c, proxy)
	}
	var all []sectionTLS
	api := tlsSection{name: "server-http-tls", ca: true, own: true, skip: always}
	if c.TLS.Members {
		all = append(all, sectionTLS{
			topology.CertificateDir(clientTLS), clientTLS, c.ClientSecret(),
			[]tlsSection{{name: "cluster-tls", ca: true, own: true}},
		})
	}
	if c.TLS.SQL {
		all = append(all, sectionTLS{
			tiproxyServerDir, sqlServerTLS, c.SQLServerSecret(),
			[]tlsSection{{name: "server-tls", ca: true, own: true, skip: byItself}, api},
		})
		if toTiDB(c, proxy) {
			skip := skipsCA(c, proxy)
			section := tlsSection{name: "sql-tls", ca: skip == never, own: !c.Source.Spec.TiDB.TLSClient.DisableClientAuthn, skip: skip}
			all = append(all, sectionTLS{
				"/var/lib/tiproxy-sql-tls", sqlClientTLS, c.SQLClientSecret(proxy.TLSClientSecretName), []tlsSection{section},
			})
		}
	}
	if c.TLS.Members && !c.TLS.SQL {
		all = append(all, sectionTLS{
			"/var/lib/tiproxy-http-server-tls", topology.TiProxy.CertificateVolume(), c.MemberSecret(topology.TiProxy), []tlsSection{api},
		})
	}
	return all
}

// tiproxyServerDir has the certificate that SQL clients are shown.
const tiproxyServerDir = "/var/lib/tiproxy-server-tls"

// tiproxyTLSV1 returns the certificates of the layout v1, in which TiProxy has one of its own.
func tiproxyTLSV1(c topology.Cluster, proxy *v1alpha1.TiProxySpec) []sectionTLS {
	var all []sectionTLS
	if c.TLS.Members {
		own := topology.TiProxy.CertificateVolume()
		all = append(all,
			sectionTLS{topology.CertificateDir(clientTLS), clientTLS, c.ClientSecret(), nil}, // for a person who debugs
			sectionTLS{topology.CertificateDir(own), own, c.MemberSecret(topology.TiProxy), []tlsSection{
				{name: "cluster-tls", ca: true, own: true},
				{name: "server-http-tls", ca: true, own: true, skip: always},
			}})
	}
	if c.TLS.SQL {
		sections := []tlsSection{{name: "server-tls", own: true, skip: byItself}}
		if toTiDB(c, proxy) {
			skip := skipsCA(c, proxy)
			sections = append(sections, tlsSection{name: "sql-tls", ca: skip == never, skip: skip})
		}
		all = append(all, sectionTLS{tiproxyServerDir, sqlServerTLS, c.SQLServerSecret(), sections})
	}
	return all
}

// toTiDB reports whether TiProxy connects to TiDB with TLS.
func toTiDB(c topology.Cluster, proxy *v1alpha1.TiProxySpec) bool {
	return proxy.SSLEnableTiDB || !c.Source.SkipTLSWhenConnectTiDB()
}

// skipsCA reports whether TiProxy does not check the certificates of TiDB servers.
func skipsCA(c topology.Cluster, proxy *v1alpha1.TiProxySpec) skipping {
	if c.Source.Spec.TiDB.TLSClient.SkipInternalClientCA && proxy.Config.Get("security.sql-tls.skip-ca") == nil {
		return always
	}
	return never
}

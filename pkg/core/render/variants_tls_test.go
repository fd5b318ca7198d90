package render

import (
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// certificate inserts a Secret's volume and mount at a place in the lists.
func (o *objectsOfOperator) certificate(k topology.Kind, volume, mount int, name, secret string) {
	o.pod(k).Volumes = slices.Insert(o.pod(k).Volumes, volume, corev1.Volume{
		Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}},
	})
	o.main(k).VolumeMounts = slices.Insert(o.main(k).VolumeMounts, mount,
		corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: "/var/lib/" + name})
}

// configure sets a key in a table of a component's configuration.
func (o *objectsOfOperator) configure(k topology.Kind, table, key string, value any) {
	if o.config[k][table] == nil {
		o.config[k][table] = map[string]any{}
	}
	o.config[k][table].(map[string]any)[key] = value
}

// statusCommand is the command that asks TiDB's status port.
func (o *objectsOfOperator) statusCommand() []string {
	if !slices.ContainsFunc(o.main(topology.TiDB).VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "tidb-tls" }) {
		return []string{"curl", "http://127.0.0.1:10080/status", "--fail", "--location"}
	}
	return []string{
		"curl", "https://127.0.0.1:10080/status", "--fail", "--location",
		"--cacert", "/var/lib/tidb-tls/ca.crt", "--cert", "/var/lib/tidb-tls/tls.crt", "--key", "/var/lib/tidb-tls/tls.key",
	}
}

// ofTLS returns variants with certificates. They come first: other variants insert their volumes
// before or after those.
func ofTLS() []variant {
	yes := true
	return []variant{
		{"tlsCluster.enabled", "tlsCluster", func(tc *v1alpha1.TidbCluster) { tc.Spec.TLSCluster = &v1alpha1.TLSCluster{Enabled: true} }, tlsOfMembers},
		{"mountClusterClientSecret", "tlsCluster", func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TLSCluster = &v1alpha1.TLSCluster{Enabled: true}
			tc.Spec.PD.MountClusterClientSecret, tc.Spec.TiKV.MountClusterClientSecret = &yes, &yes
		}, func(o *objectsOfOperator) {
			o.certificate(topology.PD, 3, 4, "cluster-client-tls", "basic-cluster-client-secret")
			o.certificate(topology.TiKV, 3, 4, "cluster-client-tls", "basic-cluster-client-secret")
			tlsOfMembers(o)
		}},
		{"mountClusterClientSecret without TLS", "tlsCluster", func(tc *v1alpha1.TidbCluster) {
			tc.Spec.PD.MountClusterClientSecret, tc.Spec.TiKV.MountClusterClientSecret = &yes, &yes
		}, none},
		{"tidb.tlsClient.enabled", "tlsClient", sqlTLS(v1alpha1.TiDBTLSClient{}), func(o *objectsOfOperator) {
			o.configure(topology.PD, "dashboard", "tidb-cacert-path", "/var/lib/tidb-client-tls/ca.crt")
			o.configure(topology.TiDB, "security", "ssl-ca", "/var/lib/tidb-server-tls/ca.crt")
			tlsOfSQL(o, "basic-tidb-client-secret")
			sqlTLSOfProxies(o)
			o.proxyFiles("sql-tls", "/var/lib/tiproxy-sql-tls", "ca", "cert", "key")
		}},
		{"tidb.tlsClient without CAs", "tlsClient", func(tc *v1alpha1.TidbCluster) {
			sqlTLS(v1alpha1.TiDBTLSClient{DisableClientAuthn: true, SkipInternalClientCA: true})(tc)
			tc.Spec.PD.TLSClientSecretName = ptr("mine")
		}, func(o *objectsOfOperator) {
			tlsOfSQL(o, "mine")
			sqlTLSOfProxies(o)
			o.proxySetting("sql-tls", "skip-ca", true)
		}},
		{"skip-tls-when-connect-tidb", "tlsClient", func(tc *v1alpha1.TidbCluster) {
			sqlTLS(v1alpha1.TiDBTLSClient{})(tc)
			metav1.SetMetaDataAnnotation(&tc.ObjectMeta, "tidb.tidb.pingcap.com/skip-tls-when-connect-tidb", "")
		}, func(o *objectsOfOperator) {
			o.configure(topology.TiDB, "security", "ssl-ca", "/var/lib/tidb-server-tls/ca.crt")
			tlsOfTiDB(o)
			serverTLSOfProxies(o)
		}},
	}
}

func sqlTLS(spec v1alpha1.TiDBTLSClient) func(*v1alpha1.TidbCluster) {
	spec.Enabled = true
	return func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.TLSClient = &spec }
}

func tlsOfMembers(o *objectsOfOperator) {
	o.certificate(topology.PD, 3, 4, "pd-tls", "basic-pd-cluster-secret")
	o.certificate(topology.TiKV, 3, 4, "tikv-tls", "basic-tikv-cluster-secret")
	o.certificate(topology.TiFlash, 2, 3, "tiflash-tls", "basic-tiflash-cluster-secret")
	o.flash.tls = true
	o.certificate(topology.TiDB, 3, 3, "tidb-tls", "basic-tidb-cluster-secret")
	for key, file := range map[string]string{"cacert-path": "ca.crt", "cert-path": "tls.crt", "key-path": "tls.key"} {
		o.configure(topology.PD, "security", key, "/var/lib/pd-tls/"+file)
	}
	for key, file := range map[string]string{"ca-path": "ca.crt", "cert-path": "tls.crt", "key-path": "tls.key"} {
		o.configure(topology.TiKV, "security", key, "/var/lib/tikv-tls/"+file)
	}
	for key, file := range map[string]string{"cluster-ssl-ca": "ca.crt", "cluster-ssl-cert": "tls.crt", "cluster-ssl-key": "tls.key"} {
		o.configure(topology.TiDB, "security", key, "/var/lib/tidb-tls/"+file)
	}
	tlsOfProxies(o)
	o.ticdc.tls, o.pump.tls = true, true
	for key, file := range map[string]string{"ssl-ca": "ca.crt", "ssl-cert": "tls.crt", "ssl-key": "tls.key"} {
		o.configure(topology.Pump, "security", key, "/var/lib/pump-tls/"+file)
	}
	for k := range o.flags {
		o.replaceFlag(k, "http://", "https://")
	}
}

func tlsOfSQL(o *objectsOfOperator, client string) {
	at := len(o.pod(topology.PD).Volumes)
	o.certificate(topology.PD, at, at+1, "tidb-client-tls", client)
	o.configure(topology.PD, "dashboard", "tidb-cert-path", "/var/lib/tidb-client-tls/tls.crt")
	o.configure(topology.PD, "dashboard", "tidb-key-path", "/var/lib/tidb-client-tls/tls.key")
	tlsOfTiDB(o)
}

func tlsOfTiDB(o *objectsOfOperator) {
	at := len(o.pod(topology.TiDB).Volumes) - 1 // before the slow log
	o.certificate(topology.TiDB, at, at, "tidb-server-tls", "basic-tidb-server-secret")
	o.configure(topology.TiDB, "security", "ssl-cert", "/var/lib/tidb-server-tls/tls.crt")
	o.configure(topology.TiDB, "security", "ssl-key", "/var/lib/tidb-server-tls/tls.key")
}

package render

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func ofTiProxy() []variant {
	const kind = topology.TiProxy
	proxy := func(name string, spec func(*v1alpha1.TiProxySpec), fact func(*objectsOfOperator)) variant {
		return variant{"tiproxy." + name, "tiproxy." + name, func(tc *v1alpha1.TidbCluster) { spec(tc.Spec.TiProxy) }, fact}
	}
	return []variant{
		proxy("serviceAccount", func(s *v1alpha1.TiProxySpec) { s.ServiceAccount = "x" }, func(o *objectsOfOperator) { o.pod(kind).ServiceAccountName = "x" }),
		proxy("limits", func(s *v1alpha1.TiProxySpec) { s.Limits = limited(corev1.ResourceCPU, "1") }, func(o *objectsOfOperator) {
			o.main(kind).Resources.Limits = limited(corev1.ResourceCPU, "1")
		}),
		proxy("readinessProbe", func(s *v1alpha1.TiProxySpec) { s.ReadinessProbe = &v1alpha1.Probe{} }, none),
		proxy("config", func(s *v1alpha1.TiProxySpec) {
			s.Config.Set("proxy.graceful-wait-before-shutdown", int64(30))
			s.Config.Set("proxy.require-backend-tls", true)
			s.Config.Set("workdir", "/mine")
		}, func(o *objectsOfOperator) {
			o.configure(kind, "proxy", "graceful-wait-before-shutdown", int64(30))
			o.configure(kind, "proxy", "require-backend-tls", true)
		}),
	}
}

// proxyVolume adds a certificate to TiProxy.
func (o *objectsOfOperator) proxyVolume(name, secret, dir string) {
	pod, main := o.pod(topology.TiProxy), o.main(topology.TiProxy)
	pod.Volumes = append(pod.Volumes, corev1.Volume{
		Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}},
	})
	main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: dir})
}

// proxySetting sets a key of a section of TiProxy's security settings.
func (o *objectsOfOperator) proxySetting(section, key string, value any) {
	security, _ := o.config[topology.TiProxy]["security"].(map[string]any)
	if security == nil {
		security = map[string]any{}
		o.config[topology.TiProxy]["security"] = security
	}
	if security[section] == nil {
		security[section] = map[string]any{}
	}
	security[section].(map[string]any)[key] = value
}

// proxyFiles sets the files of a certificate in a section.
func (o *objectsOfOperator) proxyFiles(section, dir string, keys ...string) {
	for _, key := range keys {
		o.proxySetting(section, key, dir+"/"+map[string]string{"ca": "ca.crt", "cert": "tls.crt", "key": "tls.key"}[key])
	}
}

// tlsOfProxies are the certificates of TiProxy with TLS between members.
func tlsOfProxies(o *objectsOfOperator) {
	o.proxyVolume("cluster-client-tls", "basic-cluster-client-secret", "/var/lib/cluster-client-tls")
	o.proxyFiles("cluster-tls", "/var/lib/cluster-client-tls", "ca", "cert", "key")
	o.proxyVolume("tiproxy-tls", "basic-tiproxy-cluster-secret", "/var/lib/tiproxy-http-server-tls")
	o.proxyFiles("server-http-tls", "/var/lib/tiproxy-http-server-tls", "ca", "cert", "key")
	o.proxySetting("server-http-tls", "skip-ca", true)
	o.configure(topology.TiDB, "security", "session-token-signing-cert", "/var/lib/tidb-tls/tls.crt")
	o.configure(topology.TiDB, "security", "session-token-signing-key", "/var/lib/tidb-tls/tls.key")
}

// serverTLSOfProxies are those with TLS of SQL clients, without TLS to TiDB. TiProxy's HTTP server
// then shows the same certificate.
func serverTLSOfProxies(o *objectsOfOperator) {
	pod, main := o.pod(topology.TiProxy), o.main(topology.TiProxy)
	pod.Volumes = slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "tiproxy-tls" })
	main.VolumeMounts = slices.DeleteFunc(main.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "tiproxy-tls" })
	o.proxyVolume("tidb-server-tls", "basic-tidb-server-secret", "/var/lib/tiproxy-server-tls")
	for _, section := range []string{"server-tls", "server-http-tls"} {
		o.proxyFiles(section, "/var/lib/tiproxy-server-tls", "ca", "cert", "key")
		o.proxySetting(section, "skip-ca", true)
	}
}

func sqlTLSOfProxies(o *objectsOfOperator) {
	serverTLSOfProxies(o)
	o.proxyVolume("tidb-client-tls", "basic-tidb-client-secret", "/var/lib/tiproxy-sql-tls")
}

// TestTiProxyCertLayoutV1 has the layout in which TiProxy has a certificate of its own. Without TLS
// between members there is none, and so no settings that name one (tidb-B7).
func TestTiProxyCertLayoutV1(t *testing.T) {
	const own, server = "/var/lib/tiproxy-tls", "/var/lib/tiproxy-server-tls"
	files := func(dir string) map[string]any {
		return map[string]any{"ca": dir + "/ca.crt", "cert": dir + "/tls.crt", "key": dir + "/tls.key"}
	}
	skipping := func(m map[string]any) map[string]any { m["skip-ca"] = true; return m }
	pair := func(dir string) map[string]any { m := files(dir); delete(m, "ca"); return m }
	members := map[string]any{"cluster-tls": files(own), "server-http-tls": skipping(files(own))}
	sql := map[string]any{"server-tls": skipping(pair(server)), "sql-tls": map[string]any{"ca": server + "/ca.crt"}}
	both := maps.Clone(members)
	maps.Copy(both, sql)
	for name, tt := range map[string]struct {
		members bool
		sql     *v1alpha1.TiDBTLSClient
		edit    func(*v1alpha1.TidbCluster)
		want    map[string]any
		volumes []string
	}{
		"none":    {want: nil},
		"members": {members: true, want: members, volumes: []string{"cluster-client-tls", "tiproxy-tls"}},
		"SQL":     {sql: &v1alpha1.TiDBTLSClient{}, want: sql, volumes: []string{"tidb-server-tls"}},
		"both":    {members: true, sql: &v1alpha1.TiDBTLSClient{}, want: both, volumes: []string{"cluster-client-tls", "tiproxy-tls", "tidb-server-tls"}},
		"without the CA": {sql: &v1alpha1.TiDBTLSClient{SkipInternalClientCA: true}, volumes: []string{"tidb-server-tls"},
			want: map[string]any{"server-tls": skipping(pair(server)), "sql-tls": map[string]any{"skip-ca": true}}},
		"the user's skip-ca stays": {sql: &v1alpha1.TiDBTLSClient{SkipInternalClientCA: true}, volumes: []string{"tidb-server-tls"},
			edit: func(tc *v1alpha1.TidbCluster) {
				tc.Spec.TiProxy.Config.Set("security.server-tls.skip-ca", false)
				tc.Spec.TiProxy.Config.Set("security.sql-tls.skip-ca", false)
			},
			want: map[string]any{
				"server-tls": map[string]any{"cert": server + "/tls.crt", "key": server + "/tls.key", "skip-ca": false},
				"sql-tls":    map[string]any{"ca": server + "/ca.crt", "skip-ca": false},
			}},
		"not to TiDB": {sql: &v1alpha1.TiDBTLSClient{}, volumes: []string{"tidb-server-tls"}, edit: skipTLS,
			want: map[string]any{"server-tls": skipping(pair(server))}},
		"to TiDB anyway": {sql: &v1alpha1.TiDBTLSClient{}, volumes: []string{"tidb-server-tls"}, want: sql, edit: func(tc *v1alpha1.TidbCluster) {
			skipTLS(tc)
			tc.Spec.TiProxy.SSLEnableTiDB = true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, "basic", withProxies, func(tc *v1alpha1.TidbCluster) {
				tc.Spec.TiProxy.CertLayout = v1alpha1.TiProxyCertLayoutV1
				if tt.members {
					tc.Spec.TLSCluster = &v1alpha1.TLSCluster{Enabled: true}
				}
				if tt.sql != nil {
					sqlTLS(*tt.sql)(tc)
				}
				if tt.edit != nil {
					tt.edit(tc)
				}
			})
			group, _ := c.Group(topology.TiProxy)
			comp, err := describeTiProxy(c, group, nothing())
			if err != nil {
				t.Fatal(err)
			}
			got, _ := comp.documents[0].config.MP["security"].(map[string]any)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("security (-want +got):\n%s", diff)
			}
			var volumes []string
			for _, v := range comp.volumes {
				volumes = append(volumes, v.Name)
			}
			if !slices.Equal(volumes, tt.volumes) {
				t.Errorf("volumes %v, want %v", volumes, tt.volumes)
			}
		})
	}
}

func skipTLS(tc *v1alpha1.TidbCluster) {
	metav1.SetMetaDataAnnotation(&tc.ObjectMeta, "tidb.tidb.pingcap.com/skip-tls-when-connect-tidb", "")
}

// TestTiProxyReloads: TiProxy reads its configuration again, so that another one is written into the
// ConfigMap that its pods use, whatever configUpdateStrategy says.
func TestTiProxyReloads(t *testing.T) {
	edit := func(tc *v1alpha1.TidbCluster) { rolling(tc); withProxies(tc) }
	have := created(t, want(t, load(t, "basic", edit), nothing(), state.Snapshot{}))
	c := load(t, "basic", edit, func(tc *v1alpha1.TidbCluster) { tc.Spec.TiProxy.Config.Set("log.level", "warn") })
	w := want(t, c, have, state.Snapshot{})
	if m := configOf(t, w, topology.TiProxy); m.Name != "basic-tiproxy" {
		t.Errorf("the ConfigMap is %s", m.Name)
	}
	if got := groupOf(t, w, topology.TiProxy).Template; got != Template(have.Sets[topology.TiProxy]) {
		t.Error("the pods restart")
	}
}

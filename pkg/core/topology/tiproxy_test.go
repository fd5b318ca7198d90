package topology

import (
	"slices"
	"testing"
)

// TestTiProxyCertificates: which certificates pods of TiProxy mount, and whether its HTTP server has
// one.
func TestTiProxyCertificates(t *testing.T) {
	const members, sql = `tlsCluster: {enabled: true}`, `tidb: {tlsClient: {enabled: true}}`
	const client, own, server, toTiDB = "basic-cluster-client-secret", "basic-tiproxy-cluster-secret", "basic-tidb-server-secret", "basic-tidb-client-secret"
	for name, tt := range map[string]struct {
		spec   string
		scheme string
		want   []string
	}{
		"none":             {`{tiproxy: {replicas: 1}}`, "http", nil},
		"members":          {`{` + members + `, tiproxy: {replicas: 1}}`, "https", []string{client, own}},
		"SQL":              {`{` + sql + `, tiproxy: {replicas: 1}}`, "https", []string{server, toTiDB}},
		"both":             {`{` + members + `, ` + sql + `, tiproxy: {replicas: 1, tlsClientSecretName: mine}}`, "https", []string{client, server, "mine"}},
		"v1, members":      {`{` + members + `, tiproxy: {replicas: 1, certLayout: v1}}`, "https", []string{client, own}},
		"tidb-B7: v1, SQL": {`{` + sql + `, tiproxy: {replicas: 1, certLayout: v1}}`, "http", []string{server}},
		"v1, both":         {`{` + members + `, ` + sql + `, tiproxy: {replicas: 1, certLayout: v1}}`, "https", []string{client, own, server}},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(written(t, tt.spec))
			var got []string
			for _, w := range Certificates(c) {
				if slices.Contains(w.MountedBy, TiProxy) {
					got = append(got, w.Secret)
				}
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("mounts %v, want %v", got, tt.want)
			}
			if s := c.TiProxyScheme(); s != tt.scheme {
				t.Errorf("scheme %s, want %s", s, tt.scheme)
			}
		})
	}
}

// TestTiProxySuspended: nothing needs TiProxy, so that it can be suspended alone.
func TestTiProxySuspended(t *testing.T) {
	alone := `{tiproxy: {replicas: 1, suspendAction: {suspendStatefulSet: true}}}`
	if errs := Validate(New(written(t, alone))); len(errs) > 0 {
		t.Error(errs)
	}
	if errs := Validate(New(written(t, `{tiproxy: {replicas: 1}, pd: {suspendAction: {suspendStatefulSet: true}}}`))); len(errs) != 1 {
		t.Errorf("PD alone: %v", errs)
	}
}

// TestTiProxyWarnings: fields without effect, and a version that TiProxy has no release of.
func TestTiProxyWarnings(t *testing.T) {
	c := New(written(t, `{tiproxy: {replicas: 1, configUpdateStrategy: RollingUpdate, readinessProbe: {}}}`))
	var got []string
	for _, w := range Warnings(nil, c) {
		got = append(got, w.Field.String())
	}
	if want := []string{"spec.tiproxy.configUpdateStrategy", "spec.tiproxy.version", "spec.tiproxy.readinessProbe"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

package render

import (
	"slices"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestSysctlInitOfOperator: tidb-operator makes the container that sets kernel parameters for PD, TiKV, TiFlash and TiDB.
// Another pod of the other components would restart all of them when a cluster is taken over.
func TestSysctlInitOfOperator(t *testing.T) {
	c := load(t, "basic", func(tc *v1alpha1.TidbCluster) {
		tc.Spec.Annotations = map[string]string{annSysctl: "true"}
		tc.Spec.PodSecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "net.core.somaxconn", Value: "1024"}}}
		tc.Spec.TiCDC = &v1alpha1.TiCDCSpec{BaseImage: "pingcap/ticdc", Replicas: 1}
		tc.Spec.TiProxy = &v1alpha1.TiProxySpec{BaseImage: "pingcap/tiproxy", Replicas: 1}
		tc.Spec.Pump = &v1alpha1.PumpSpec{BaseImage: "pingcap/tidb-binlog", Replicas: 1, ResourceRequirements: tc.Spec.PD.ResourceRequirements}
	})
	own := []topology.Kind{topology.PD, topology.TiKV, topology.TiDB}
	for _, g := range want(t, c, nothing(), state.Snapshot{}).Groups {
		pod := g.Set.Manifest.(*appsv1.StatefulSet).Spec.Template.Spec
		made := slices.ContainsFunc(pod.InitContainers, func(c corev1.Container) bool { return c.Name == "init" })
		if ours := slices.Contains(own, g.Kind); made != ours || (len(pod.SecurityContext.Sysctls) == 0) != ours {
			t.Errorf("%s: init container %t, sysctls of the pod %v", g.Kind, made, pod.SecurityContext.Sysctls)
		}
	}
}

// TestBootstrapSQLWithTLS: tidb-operator lists the volume with the first statements before those of the certificates.
func TestBootstrapSQLWithTLS(t *testing.T) {
	c := load(t, "basic", func(tc *v1alpha1.TidbCluster) {
		name := "sql"
		tc.Spec.TLSCluster = &v1alpha1.TLSCluster{Enabled: true}
		tc.Spec.TiDB.TLSClient = &v1alpha1.TiDBTLSClient{Enabled: true}
		tc.Spec.TiDB.BootstrapSQLConfigMapName = &name
	})
	var names []string
	for _, v := range groupOf(t, want(t, c, nothing(), state.Snapshot{}), topology.TiDB).Set.Manifest.(*appsv1.StatefulSet).Spec.Template.Spec.Volumes {
		names = append(names, v.Name)
	}
	sql, member, client := slices.Index(names, "tidb-bootstrap-sql"), slices.Index(names, "tidb-tls"), slices.Index(names, "tidb-server-tls")
	if sql < 0 || sql > member || sql > client {
		t.Errorf("volumes %v", names)
	}
}

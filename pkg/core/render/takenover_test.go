package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestSysctlInitOfOperator: tidb-operator makes the container that sets kernel parameters for PD, TiKV, TiFlash and
// TiDB. Another pod of the other components would restart all of them when a cluster is taken over.
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

// TestEmptyPDAddressOfOperator: what tidb-operator has written stays as long as the spec does. A change of the spec has
// TiFlash know PD's address.
func TestEmptyPDAddressOfOperator(t *testing.T) {
	adopted(t, "as it was written", variant{"tiflash.config with PreferPDAddressesOverDiscovery", "startScriptVersion", func(tc *v1alpha1.TidbCluster) {
		tc.Spec.StartScriptVersion = v1alpha1.StartScriptV2
		tc.Spec.StartScriptV2FeatureFlags = []v1alpha1.StartScriptV2FeatureFlag{v1alpha1.StartScriptV2FeatureFlagPreferPDAddressesOverDiscovery}
		if tc.Spec.TiFlash.Config == nil {
			tc.Spec.TiFlash.Config = v1alpha1.NewTiFlashConfig()
		}
	}, func(o *objectsOfOperator) {
		o.arguments, o.ticdc.annotations, o.pump.second = "", true, true
		o.flash.pdless = true
	}})
	c := load(t, "flash", func(tc *v1alpha1.TidbCluster) {
		tc.Spec.StartScriptVersion = v1alpha1.StartScriptV2
		tc.Spec.StartScriptV2FeatureFlags = []v1alpha1.StartScriptV2FeatureFlag{v1alpha1.StartScriptV2FeatureFlagPreferPDAddressesOverDiscovery}
		tc.Spec.TiFlash.Config = v1alpha1.NewTiFlashConfig()
		tc.Spec.TiFlash.Config.Common.Set("logger.level", "warn")
	})
	g, _ := c.Group(topology.TiFlash)
	comp, err := descriptionOf(topology.TiFlash).objects(c, g, nothing())
	if err != nil {
		t.Fatal(err)
	}
	d := comp.documents[0]
	wanted, err := encode(d.config)
	if err != nil {
		t.Fatal(err)
	}
	empty := strings.ReplaceAll(wanted, "basic-pd.db.svc:2379", "")
	for text, want := range map[string]bool{wanted: true, empty: true, strings.ReplaceAll(empty, "warn", "info"): false} {
		if got, err := d.sameMeaning(text, wanted); err != nil || got != want || !strings.Contains(wanted, "basic-pd.db.svc:2379") {
			t.Errorf("kept: %t, %v\n%s", got, err, text)
		}
	}
}

// TestSetsOfOperator: an annotation of slots, and a StatefulSet of Pump without a partition, are no reason to write.
// The write that rolls Pump out closes the partition, so that its pods restart one by one all the same.
func TestSetsOfOperator(t *testing.T) {
	o := basicOfOperator(t)
	o.sets[topology.Pump].UpdateStrategy.RollingUpdate = nil
	upgraded := func(tc *v1alpha1.TidbCluster) { withAll(tc); tc.Spec.Pump.BaseImage = "mine/tidb-binlog" }
	before := load(t, "flash", withAll)
	have := o.existing(t, before)
	have.Sets[topology.TiKV].Annotations["delete-slots"] = "[]"
	have.Sets[topology.Pump].Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32)}
	if found := drifts(want(t, before, have, state.Snapshot{PD: state.PD{ClusterID: 7}})); len(found) > 0 {
		t.Errorf("to be written: %v", found)
	}
	after := groupOf(t, want(t, load(t, "flash", upgraded), have, state.Snapshot{PD: state.PD{ClusterID: 7}}), topology.Pump)
	live := have.Sets[topology.Pump]
	merged, err := mergeSet(live, after.Set.Manifest.(*appsv1.StatefulSet))
	if err != nil || after.Set.Drift == desired.None {
		t.Fatal(after.Set.Drift, err)
	}
	if p := merged.Spec.UpdateStrategy.RollingUpdate; p == nil || *p.Partition < *live.Spec.Replicas {
		t.Errorf("the partition is open: %+v", p)
	}
}

package backup

import (
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// production returns a cluster with much that a drill must not share.
func production() *v1alpha1.TidbCluster {
	tc := &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic", Annotations: map[string]string{"tikv.tidb.pingcap.com/delete-slots": "[1]"}}}
	tc.Spec = v1alpha1.TidbClusterSpec{
		Version: "v8.1.0", Paused: true, HostNetwork: ptr.To(true), AcrossK8s: true, PDAddresses: []string{"http://elsewhere:2379"},
		Cluster: &v1alpha1.TidbClusterRef{Name: "first"}, TLSCluster: &v1alpha1.TLSCluster{Enabled: true},
		PD:   &v1alpha1.PDSpec{Replicas: 3, Mode: "ms", Config: v1alpha1.NewPDConfig()},
		PDMS: []*v1alpha1.PDMSSpec{{Name: "tso"}},
		TiKV: &v1alpha1.TiKVSpec{Replicas: 7, Config: v1alpha1.NewTiKVConfig()},
		TiDB: &v1alpha1.TiDBSpec{Replicas: 4, Config: v1alpha1.NewTiDBConfig(), BinlogEnabled: ptr.To(true),
			Service: &v1alpha1.TiDBServiceSpec{ServiceSpec: v1alpha1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerIP: ptr.To("10.0.0.1")}}},
		TiFlash: &v1alpha1.TiFlashSpec{Replicas: 1}, Pump: &v1alpha1.PumpSpec{Replicas: 1},
	}
	tc.Spec.PD.Config.Set("replication.location-labels", []string{"zone"})
	tc.Spec.TiKV.Config.Set("security.encryption.data-encryption-method", "aes256-ctr")
	tc.Spec.TiDB.Config.Set("new_collations_enabled_on_first_bootstrap", false)
	tc.Spec.TiKV.HostNetwork = ptr.To(true)
	tc.Spec.TiDB.AdditionalContainers = []corev1.Container{{Name: "notifies"}}
	tc.Spec.TiDB.InitContainers = []corev1.Container{{Name: "begins"}}
	tc.Spec.TiDB.Labels, tc.Spec.Labels = map[string]string{"app": "shop-db"}, map[string]string{"team": "shop"}
	tc.Spec.TiDB.Arguments, tc.Spec.TiDB.Plugins = []string{"--path=basic-pd:2379"}, []string{"audit-1"}
	tc.Spec.TiDB.Lifecycle, tc.Spec.TiDB.BootstrapSQLConfigMapName = &corev1.Lifecycle{}, ptr.To("first-sql")
	tc.Spec.PD.TLSClientSecretName, tc.Spec.PriorityClassName = ptr.To("basic-dashboard"), ptr.To("first")
	return tc
}

// TestDrillCluster: the cluster of a drill has a database of its own, in the same configuration, and takes nothing from the
// cluster of the backup.
func TestDrillCluster(t *testing.T) {
	from := production()
	is := DrillCluster(from, "7")
	s := is.Spec
	switch {
	case is.Name != "basic-drill" || is.Namespace != "db" || len(is.Annotations) != 1 || is.Annotations[AnnotationDrill] != "7":
		t.Errorf("%+v", is.ObjectMeta)
	case s.Paused || s.HostNetwork != nil || s.AcrossK8s || s.PDAddresses != nil || s.Cluster != nil || s.PDMS != nil || s.TiFlash != nil || s.Pump != nil:
		t.Errorf("it shares something: %+v", s)
	case s.TiKV.HostNetwork != nil || s.TiDB.AdditionalContainers != nil || s.TiDB.BinlogEnabled != nil || s.PD.Mode != "":
		t.Errorf("it shares something: %+v %+v %+v", s.PD, s.TiKV, s.TiDB)
	case s.Labels != nil || s.PriorityClassName != nil || s.TiDB.Labels != nil || s.TiDB.InitContainers != nil || s.PD.TLSClientSecretName != nil:
		t.Errorf("it shares something: %+v", s)
	case s.TiDB.Arguments != nil || s.TiDB.Plugins != nil || s.TiDB.Lifecycle != nil || s.TiDB.BootstrapSQLConfigMapName != nil:
		t.Errorf("it shares something: %+v", s.TiDB)
	case s.PD.Replicas != 1 || s.TiKV.Replicas != 3 || s.TiDB.Replicas != 1:
		t.Errorf("PD %d, TiKV %d, TiDB %d", s.PD.Replicas, s.TiKV.Replicas, s.TiDB.Replicas)
	case s.TiDB.Service.Type != corev1.ServiceTypeClusterIP || s.TiDB.Service.LoadBalancerIP != nil:
		t.Errorf("%+v", s.TiDB.Service)
	case !s.TLSCluster.Enabled || s.TiKV.Config.Get("security.encryption.data-encryption-method") == nil || s.TiDB.Config.Get("new_collations_enabled_on_first_bootstrap") == nil:
		t.Error("the configuration of the data is not the same")
	case s.PD.Config.Get("replication.location-labels") != nil || s.PD.Config.Get("replication.max-replicas").MustInt() != 1:
		t.Errorf("%+v", s.PD.Config)
	}
	if from.Spec.PD.Replicas != 3 || from.Spec.PD.Config.Get("replication.location-labels") == nil {
		t.Error("the cluster of the backup is changed")
	}
}

func TestStoresOfDrill(t *testing.T) {
	for copies, want := range map[int]int32{0: 3, 1: 7, 3: 3, 5: 2, 9: 1} {
		from := production()
		if copies > 0 {
			from.Spec.PD.Config.Set("replication.max-replicas", copies)
		} else {
			from.Spec.PD.Config = nil
		}
		if got := DrillCluster(from, "7").Spec.TiKV.Replicas; got != want {
			t.Errorf("7 stores with %d copies: %d stores, want %d", copies, got, want)
		}
	}
}

func TestSharesVolumes(t *testing.T) {
	for name, c := range map[string]struct {
		source corev1.VolumeSource
		want   bool
	}{
		"a directory of the host": {corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}, true},
		"a claim":                 {corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}, true},
		"a file server":           {corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "files", Path: "/"}}, true},
		"a directory of the pod":  {corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false},
		"a secret":                {corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "key"}}, false},
	} {
		from := production()
		from.Spec.TiKV.AdditionalVolumes = []corev1.Volume{{Name: "v", VolumeSource: c.source}}
		if got := SharesVolumes(from); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

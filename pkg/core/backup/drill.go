package backup

import (
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// AnnotationDrill is on the TidbCluster that a drill makes. Its value is the UID of the Backup that is restored there.
	AnnotationDrill = "kubectl-tidb/drill-of"
	// AnnotationDrilled is on a Backup with which a drill has succeeded. Its value is the time of that.
	AnnotationDrilled = "kubectl-tidb/drilled"
)

// DrilledAt returns when a drill found all rows of the cluster in the restored Backup, "" where none has.
func DrilledAt(b *v1alpha1.Backup) string { return b.Annotations[AnnotationDrilled] }

// DrillName returns the name of the cluster that a drill makes beside a cluster.
func DrillName(cluster string) string { return cluster + "-drill" }

// usualCopies is how many copies of a region PD keeps without a configuration.
const usualCopies = 3

// DrillCluster returns the cluster of a drill. It has a PD member, a TiDB server, and the stores for a single copy of the
// data. All that decides how data is written and read is as in the cluster of the Backup. Nothing of the cluster is
// shared: no port of a host, no address of a load balancer, no member of PD.
func DrillCluster(tc *v1alpha1.TidbCluster, b *v1alpha1.Backup) *v1alpha1.TidbCluster {
	made := &v1alpha1.TidbCluster{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "TidbCluster"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: tc.Namespace, Name: DrillName(tc.Name), Annotations: map[string]string{AnnotationDrill: string(b.UID)},
		},
		Spec: *tc.Spec.DeepCopy(),
	}
	s := &made.Spec
	s.TiFlash, s.TiCDC, s.TiProxy, s.Pump, s.PDMS = nil, nil, nil, nil, nil
	s.Paused, s.RecoveryMode, s.SuspendAction, s.HostNetwork = false, false, nil, nil
	s.Cluster, s.PDAddresses, s.AcrossK8s = nil, nil, false
	s.Services, s.EnablePVCReplace = nil, nil
	gone := corev1.PersistentVolumeReclaimDelete
	s.PVReclaimPolicy = &gone
	copies := copies(tc.Spec.PD)
	onePD(s.PD)
	s.TiKV.Replicas = max(1, (s.TiKV.Replicas+copies-1)/copies)
	oneServer(s.TiDB)
	for _, c := range []*v1alpha1.ComponentSpec{&s.PD.ComponentSpec, &s.TiKV.ComponentSpec, &s.TiDB.ComponentSpec} {
		c.HostNetwork, c.SuspendAction, c.AdditionalContainers = nil, nil, nil
	}
	return made
}

// copies returns how many copies of each region PD is configured to keep.
func copies(pd *v1alpha1.PDSpec) int32 {
	if pd.Config == nil || pd.Config.GenericConfig == nil {
		return usualCopies
	}
	if v := pd.Config.Get("replication.max-replicas"); v != nil {
		if n, err := v.AsInt(); err == nil && n > 0 {
			return int32(n)
		}
	}
	return usualCopies
}

func onePD(pd *v1alpha1.PDSpec) {
	pd.Replicas, pd.Mode, pd.Service = 1, "", nil
	if pd.Config == nil || pd.Config.GenericConfig == nil {
		pd.Config = v1alpha1.NewPDConfig()
	}
	pd.Config.Set("replication.max-replicas", 1)
	for _, key := range []string{"replication.location-labels", "replication.isolation-level"} {
		pd.Config.Del(key)
	}
}

func oneServer(db *v1alpha1.TiDBSpec) {
	db.Replicas, db.BinlogEnabled = 1, nil
	db.Initializer = &v1alpha1.TiDBInitializer{CreatePassword: true} // the data is a copy of what passwords protect
	db.Service = &v1alpha1.TiDBServiceSpec{ServiceSpec: v1alpha1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}}
	if db.Config != nil && db.Config.GenericConfig != nil {
		db.Config.Del("binlog")
	}
}

// SharesVolumes reports whether members of a cluster have directories of their hosts, or claims that the spec names. The
// members of a drill would have the same ones, and could write into the data of the cluster.
func SharesVolumes(tc *v1alpha1.TidbCluster) bool {
	return slices.ContainsFunc([]v1alpha1.ComponentSpec{tc.Spec.PD.ComponentSpec, tc.Spec.TiKV.ComponentSpec, tc.Spec.TiDB.ComponentSpec},
		func(c v1alpha1.ComponentSpec) bool {
			return slices.ContainsFunc(c.AdditionalVolumes, func(v corev1.Volume) bool {
				return v.HostPath != nil || v.PersistentVolumeClaim != nil
			})
		})
}

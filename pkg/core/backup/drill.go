package backup

import (
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// AnnotationDrill is on the TidbCluster that a drill makes. Its value is the id of the run that has made it.
	AnnotationDrill = "kubectl-tidb/drill"
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
// data. Only fields that are named here are taken from the cluster of the Backup: images, configuration, storage, and where
// pods may run. A field that is not known here could lead to the PD, the disks, the Secrets or the clients of that cluster.
func DrillCluster(tc *v1alpha1.TidbCluster, run string) *v1alpha1.TidbCluster {
	is := tc.DeepCopy().Spec
	gone := corev1.PersistentVolumeReclaimDelete
	return &v1alpha1.TidbCluster{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "TidbCluster"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: tc.Namespace, Name: DrillName(tc.Name), Annotations: map[string]string{AnnotationDrill: run},
		},
		Spec: v1alpha1.TidbClusterSpec{
			Version: is.Version, Helper: is.Helper, ImagePullPolicy: is.ImagePullPolicy, ImagePullSecrets: is.ImagePullSecrets, ServiceAccount: is.ServiceAccount,
			TLSCluster: is.TLSCluster, Timezone: is.Timezone, ClusterDomain: is.ClusterDomain, PreferIPv6: is.PreferIPv6,
			SchedulerName: is.SchedulerName, Affinity: is.Affinity, NodeSelector: is.NodeSelector, Tolerations: is.Tolerations,
			TopologySpreadConstraints: is.TopologySpreadConstraints, Annotations: is.Annotations, DNSConfig: is.DNSConfig, DNSPolicy: is.DNSPolicy,
			PodSecurityContext: is.PodSecurityContext, StartScriptVersion: is.StartScriptVersion, PVReclaimPolicy: &gone,
			PD: onePD(is.PD), TiKV: fewerStores(is.TiKV, copies(tc.Spec.PD)), TiDB: oneServer(is.TiDB),
		},
	}
}

// podsOf returns what the pods of a component have in both clusters. Labels are not taken, because a Service of a user may
// select pods by them, and send clients to the cluster of the drill.
func podsOf(c v1alpha1.ComponentSpec) v1alpha1.ComponentSpec {
	return v1alpha1.ComponentSpec{
		Image: c.Image, Version: c.Version, ImagePullPolicy: c.ImagePullPolicy, ImagePullSecrets: c.ImagePullSecrets,
		SchedulerName: c.SchedulerName, Affinity: c.Affinity, NodeSelector: c.NodeSelector, Tolerations: c.Tolerations,
		TopologySpreadConstraints: c.TopologySpreadConstraints, Annotations: c.Annotations, DNSConfig: c.DNSConfig, DNSPolicy: c.DNSPolicy,
		PodSecurityContext: c.PodSecurityContext, SecurityContext: c.SecurityContext, Env: c.Env, EnvFrom: c.EnvFrom,
		AdditionalVolumes: c.AdditionalVolumes, AdditionalVolumeMounts: c.AdditionalVolumeMounts,
		ReadinessProbe: c.ReadinessProbe, AutomountServiceAccountToken: c.AutomountServiceAccountToken,
	}
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

func onePD(pd *v1alpha1.PDSpec) *v1alpha1.PDSpec {
	made := &v1alpha1.PDSpec{
		ComponentSpec: podsOf(pd.ComponentSpec), ResourceRequirements: pd.ResourceRequirements, ServiceAccount: pd.ServiceAccount, Replicas: 1,
		BaseImage: pd.BaseImage, StorageClassName: pd.StorageClassName, VolumeAttributesClassName: pd.VolumeAttributesClassName,
		StorageVolumes: pd.StorageVolumes, DataSubDir: pd.DataSubDir, Config: pd.Config, MountClusterClientSecret: pd.MountClusterClientSecret,
		StartUpScriptVersion: pd.StartUpScriptVersion, StartTimeout: pd.StartTimeout, InitWaitTime: pd.InitWaitTime,
	}
	if made.Config == nil || made.Config.GenericConfig == nil {
		made.Config = v1alpha1.NewPDConfig()
	}
	for _, key := range []string{"replication.location-labels", "replication.isolation-level", "replication-mode"} {
		made.Config.Del(key)
	}
	made.Config.Set("replication.max-replicas", 1)
	return made
}

func fewerStores(tikv *v1alpha1.TiKVSpec, copies int32) *v1alpha1.TiKVSpec {
	return &v1alpha1.TiKVSpec{
		ComponentSpec: podsOf(tikv.ComponentSpec), ResourceRequirements: tikv.ResourceRequirements, ServiceAccount: tikv.ServiceAccount,
		Replicas: max(1, (tikv.Replicas+copies-1)/copies), BaseImage: tikv.BaseImage, Privileged: tikv.Privileged,
		SeparateRocksDBLog: tikv.SeparateRocksDBLog, SeparateRaftLog: tikv.SeparateRaftLog, RocksDBLogVolumeName: tikv.RocksDBLogVolumeName,
		RaftLogVolumeName: tikv.RaftLogVolumeName, LogTailer: tikv.LogTailer, StorageClassName: tikv.StorageClassName,
		VolumeAttributesClassName: tikv.VolumeAttributesClassName, StorageVolumes: tikv.StorageVolumes, DataSubDir: tikv.DataSubDir,
		Config: tikv.Config, MountClusterClientSecret: tikv.MountClusterClientSecret,
	}
}

func oneServer(db *v1alpha1.TiDBSpec) *v1alpha1.TiDBSpec {
	made := &v1alpha1.TiDBSpec{
		ComponentSpec: podsOf(db.ComponentSpec), ResourceRequirements: db.ResourceRequirements, ServiceAccount: db.ServiceAccount, Replicas: 1,
		BaseImage: db.BaseImage, SeparateSlowLog: db.SeparateSlowLog, SlowLogVolumeName: db.SlowLogVolumeName, SlowLogTailer: db.SlowLogTailer,
		TLSClient: db.TLSClient, StorageVolumes: db.StorageVolumes, StorageClassName: db.StorageClassName, Config: db.Config,
		Service:     &v1alpha1.TiDBServiceSpec{ServiceSpec: v1alpha1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}},
		Initializer: &v1alpha1.TiDBInitializer{CreatePassword: true}, // the data is a copy of what passwords protect
	}
	if made.Config != nil && made.Config.GenericConfig != nil {
		for _, key := range []string{"binlog", "isolation-read", "plugin"} {
			made.Config.Del(key)
		}
	}
	return made
}

// SharesVolumes reports whether pods of a cluster have volumes, in additionalVolumes, that pods of another cluster would
// share. The members of a drill could write into the data of the cluster.
func SharesVolumes(tc *v1alpha1.TidbCluster) bool {
	return slices.ContainsFunc([]v1alpha1.ComponentSpec{tc.Spec.PD.ComponentSpec, tc.Spec.TiKV.ComponentSpec, tc.Spec.TiDB.ComponentSpec},
		func(c v1alpha1.ComponentSpec) bool {
			return slices.ContainsFunc(c.AdditionalVolumes, func(v corev1.Volume) bool { return !isOfPod(v.VolumeSource) })
		})
}

// isOfPod reports whether each pod has such a volume of its own, or can only read the volume.
func isOfPod(v corev1.VolumeSource) bool {
	return v.EmptyDir != nil || v.Ephemeral != nil || v.ConfigMap != nil || v.Secret != nil || v.Projected != nil || v.DownwardAPI != nil
}

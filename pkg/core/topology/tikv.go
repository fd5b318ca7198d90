package topology

import (
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var readTiKV = reading{
	kind: TiKV,
	spec: func(tc *v1alpha1.TidbCluster) (component, bool) {
		kv := tc.Spec.TiKV
		if kv == nil {
			return component{}, false
		}
		c := component{
			ComponentSpec: &kv.ComponentSpec, whole: kv, accessor: tc.BaseTiKVSpec(), image: tc.TiKVImage(), baseImage: &kv.BaseImage,
			replicas: &kv.Replicas, disks: []disk{{volume: string(TiKV), requests: kv.Requests, at: field.NewPath("spec", "tikv")}}, volumes: kv.StorageVolumes, class: &kv.StorageClassName, attributes: kv.VolumeAttributesClassName,
			subDir: kv.DataSubDir, scale: kv.ScalePolicy, failovers: kv.MaxFailoverCount, spares: kv.SpareVolReplaceReplicas,
		}
		if kv.Config != nil {
			c.configs = listOf(kv.Config.GenericConfig)
		}
		return c, true
	},
	defaults: func(tc *v1alpha1.TidbCluster) {
		kv := tc.Spec.TiKV
		setString(&kv.BaseImage, tikvImage)
		if kv.Config == nil || kv.Config.GenericConfig == nil {
			kv.Config = v1alpha1.NewTiKVConfig()
		}
	},
	group: func(tc *v1alpha1.TidbCluster, g *Group) {
		kv := tc.Spec.TiKV
		g.StoreLabels, g.EvictTimeout = kv.StoreLabels, evictTimeout(kv)
		_, without := tc.Annotations[annNoFlush]
		g.FlushesLog = !without
	},
	recovery: func(tc *v1alpha1.TidbCluster) recovery {
		kv := tc.Spec.TiKV
		return recovery{&kv.RecoverFailover, &kv.Failover, tc.Status.TiKV.FailoverUID}
	},
	validate: validateTiKV,
	warnings: func(_ *Cluster, c Cluster, at *field.Path) []Warning {
		if kv := c.Written.Spec.TiKV; kv.EvictLeaderTimeout == nil || evictTimeout(kv) != nil {
			return nil
		}
		return []Warning{warn(at.Child("evictLeaderTimeout"), "has no effect: it must be a duration such as 10m")}
	},
	acceptedNames: acceptedNames,
	certificates: func(c Cluster) []Certificate {
		if c.TLS.Members && isTrue(c.Source.Spec.TiKV.MountClusterClientSecret) {
			return []Certificate{c.clientCertificate()}
		}
		return nil
	},
	noConfig: `""`,
	instead:  "to remove the whole cluster use kubectl tidb delete",
}

// annNoFlush is an annotation of a TidbCluster whose stores are restarted without having flushed their log backup. Its
// value does not matter.
const annNoFlush = "tidb.pingcap.com/tikv-restart-without-flush-log-backup"

// evictTimeout returns how long leaders may take to leave a store, nil where the spec does not say it. A limit is what
// its owner has asked for. There is none by default, because after the limit stores are restarted with their leaders.
func evictTimeout(kv *v1alpha1.TiKVSpec) *time.Duration {
	if kv.EvictLeaderTimeout == nil {
		return nil
	}
	limit, err := time.ParseDuration(*kv.EvictLeaderTimeout)
	if err != nil {
		return nil
	}
	return &limit
}

func validateTiKV(spec v1alpha1.TidbClusterSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	kv := spec.TiKV
	if kv.ShouldSeparateRaftLog() {
		errs = append(errs, validateLogVolume(kv.RaftLogVolumeName, kv.StorageVolumes, kv.ComponentSpec, at.Child("raftLogVolumeName"))...)
	}
	if kv.ShouldSeparateRocksDBLog() {
		errs = append(errs, validateLogVolume(kv.RocksDBLogVolumeName, kv.StorageVolumes, kv.ComponentSpec, at.Child("rocksDBLogVolumeName"))...)
	}
	return errs
}

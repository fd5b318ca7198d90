package topology

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
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
			replicas: &kv.Replicas, requests: kv.Requests, volumes: kv.StorageVolumes, class: kv.StorageClassName,
			subDir: kv.DataSubDir, scale: kv.ScalePolicy, failovers: kv.MaxFailoverCount,
		}
		if kv.Config != nil {
			c.config = kv.Config.GenericConfig
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
		g.StoreLabels, g.EvictTimeout = kv.StoreLabels, tc.TiKVEvictLeaderTimeout()
		g.FailoverUID = tc.Status.TiKV.FailoverUID
		g.Recover = recovers(kv, g.FailoverUID)
	},
	validate:      validateTiKV,
	acceptedNames: acceptedNames,
	certificates: func(c Cluster) []Certificate {
		if c.TLS.Members && isTrue(c.Source.Spec.TiKV.MountClusterClientSecret) {
			return []Certificate{c.clientCertificate()}
		}
		return nil
	},
	instead: "to remove the whole cluster use kubectl tidb delete",
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

// AskRecovery asks in the spec of a TidbCluster for the recovery from a component's failovers, and
// from no later ones: with their UID the request has no effect after they are over. It returns
// false, and changes nothing, if no failover waits for such a request, or the request is there
// already.
func AskRecovery(tc *v1alpha1.TidbCluster, k Kind) bool {
	kv, uid := tc.Spec.TiKV, tc.Status.TiKV.FailoverUID
	if !k.traits().records.named || kv == nil || len(failures(tc.Status, k)) == 0 || recovers(kv, uid) {
		return false
	}
	kv.Failover = &v1alpha1.Failover{RecoverByUID: uid}
	return true
}

// recovers reports whether the user asks for the recovery of the failover that is
// under way. A request by UID is for that failover only; without a failover the
// empty UID asks for nothing.
func recovers(kv *v1alpha1.TiKVSpec, failover types.UID) bool {
	return kv.RecoverFailover || kv.Failover != nil && failover != "" && kv.Failover.RecoverByUID == failover
}

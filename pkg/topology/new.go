package topology

import (
	"strconv"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// New makes a Cluster from a TidbCluster, which it does not change. It fills in
// the defaults of the CRD's schema and of the API types and does not validate:
// Validate does, so that a status can be shown for an invalid cluster too.
func New(tc *v1alpha1.TidbCluster) Cluster {
	given, written := configured(tc), tc
	tc = tc.DeepCopy()
	setDefaults(tc)
	c := Cluster{
		Namespace: tc.Namespace,
		Name:      tc.Name,
		UID:       tc.UID,
		Instance:  tc.Name,
		Domain:    tc.Spec.ClusterDomain,
		AcrossK8s: tc.Spec.AcrossK8s,
		Paused:    tc.Spec.Paused,
		Deleting:  tc.DeletionTimestamp != nil,
		Reclaims:  isTrue(tc.Spec.EnablePVReclaim),
		Written:   written,
		Source:    tc,

		VolumePolicy: corev1.PersistentVolumeReclaimRetain,
	}
	if p := tc.Spec.PVReclaimPolicy; p != nil && *p != "" {
		c.VolumePolicy = *p
	}
	if v, ok := tc.Labels[LabelInstance]; ok {
		c.Instance = v
	}
	if pd := tc.Spec.PD; pd != nil {
		g := group(tc, PD, pd.Replicas, tc.PDImage(), tc.BasePDSpec())
		g.Volumes = volumes(PD, pd.Requests, pd.StorageVolumes)
		g.MaxFailures = count(pd.MaxFailoverCount)
		c.Groups = append(c.Groups, g)
	}
	if kv := tc.Spec.TiKV; kv != nil {
		g := group(tc, TiKV, kv.Replicas, tc.TiKVImage(), tc.BaseTiKVSpec())
		g.StoreLabels = kv.StoreLabels
		g.EvictTimeout = tc.TiKVEvictLeaderTimeout()
		g.ScaleOut, g.ScaleIn = atOnce(kv.ScalePolicy.ScaleOutParallelism), atOnce(kv.ScalePolicy.ScaleInParallelism)
		g.Volumes = volumes(TiKV, kv.Requests, kv.StorageVolumes)
		g.MaxFailures, g.FailoverUID = count(kv.MaxFailoverCount), tc.Status.TiKV.FailoverUID
		g.Recover = recovers(kv, tc.Status.TiKV.FailoverUID)
		c.Groups = append(c.Groups, g)
	}
	if db := tc.Spec.TiDB; db != nil {
		g := group(tc, TiDB, db.Replicas, tc.TiDBImage(), tc.BaseTiDBSpec())
		g.ScaleOut, g.ScaleIn = atOnce(db.ScalePolicy.ScaleOutParallelism), atOnce(db.ScalePolicy.ScaleInParallelism)
		g.Volumes = volumes(TiDB, nil, db.StorageVolumes)
		if _, set := tc.Annotations[annMinReady(TiDB)]; !set && g.Replicas > 1 {
			g.MinReady = tidbMinReady
		}
		g.MaxFailures = count(db.MaxFailoverCount)
		c.Groups = append(c.Groups, g)
	}
	digests := asked(written, c)
	for i := range c.Groups {
		c.Groups[i].Configured = given[c.Groups[i].Kind]
		c.Groups[i].Asked = digests[c.Groups[i].Kind]
		c.Groups[i].Unknown = unknownTo(written, c.Groups[i].Kind)
	}
	return c
}

// configured are the components that the user gives a configuration.
func configured(tc *v1alpha1.TidbCluster) map[Kind]bool {
	given := map[Kind]bool{}
	for _, k := range Kinds() {
		if _, ok := part(tc, k); ok {
			given[k] = settings(tc, k) >= 0
		}
	}
	return given
}

// tidbMinReady is what a restarted TiDB server gets where the user does not say
// otherwise and there is another one to wait for: it is Ready a moment before all
// nodes know its address. Were the next one restarted at once, clients of a
// cluster of two would meet only addresses that are gone.
const tidbMinReady = 3 * time.Second

func annMinReady(k Kind) string { return "tidb.pingcap.com/" + string(k) + "-min-ready-seconds" }

func group(tc *v1alpha1.TidbCluster, k Kind, replicas int32, image string, spec v1alpha1.ComponentAccessor) Group {
	seconds, _ := strconv.Atoi(tc.Annotations[annMinReady(k)])
	return Group{
		Kind:     k,
		Replicas: int(replicas),
		Image:    image,
		Version:  Tag(image),
		MinReady: time.Duration(max(seconds, 0)) * time.Second,
		Suspend:  suspends(spec),
		Failures: failures(tc.Status, k),
		InPlace:  spec.ConfigUpdateStrategy() == v1alpha1.ConfigUpdateStrategyInPlace,
		Manual:   spec.StatefulSetUpdateStrategy() == appsv1.OnDeleteStatefulSetStrategyType,
		ScaleOut: 1,
		ScaleIn:  1,
	}
}

// atOnce is a parallelism: 1 where the user gives none, or one that means none.
func atOnce(n *int32) int { return max(count(n), 1) }

// AskRecovery asks in the spec of a TidbCluster for the recovery from a component's
// failovers, and from no later ones: with their UID the request is spent when they are
// over. It reports false, and asks for nothing, where there are none that wait for such
// a request, or it is there already.
func AskRecovery(tc *v1alpha1.TidbCluster, k Kind) bool {
	kv, uid := tc.Spec.TiKV, tc.Status.TiKV.FailoverUID
	if !k.traits().records.named || kv == nil || len(failures(tc.Status, k)) == 0 || recovers(kv, uid) {
		return false
	}
	kv.Failover = &v1alpha1.Failover{RecoverByUID: uid}
	return true
}

// recovers tells whether the user asks for the recovery of the failover that is
// under way. A request by UID is for that failover only; without a failover the
// empty UID asks for nothing.
func recovers(kv *v1alpha1.TiKVSpec, failover types.UID) bool {
	return kv.RecoverFailover || kv.Failover != nil && failover != "" && kv.Failover.RecoverByUID == failover
}

func count(n *int32) int {
	if n == nil {
		return 0
	}
	return max(int(*n), 0)
}

// Tag is the version that an image's name carries, "latest" where it has none.
// A registry's port and a digest are not taken for one.
func Tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		return image[i+1:]
	}
	return "latest"
}

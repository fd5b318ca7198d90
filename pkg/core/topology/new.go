package topology

import (
	"strconv"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// New returns the Cluster of a TidbCluster, which it does not change. It fills in the defaults of the
// CRD's schema and of the API types. Only Validate validates, so that a status can be shown for
// an invalid cluster too.
func New(tc *v1alpha1.TidbCluster) Cluster {
	given, written := configured(tc), tc
	tc = tc.DeepCopy()
	setDefaults(tc)
	c := Cluster{
		Namespace:   tc.Namespace,
		Name:        tc.Name,
		UID:         tc.UID,
		Instance:    tc.Name,
		Domain:      tc.Spec.ClusterDomain,
		AcrossK8s:   tc.Spec.AcrossK8s,
		Joined:      joined(tc),
		PDAddresses: tc.Spec.PDAddresses,
		TLS:         TLS{Members: tc.IsTLSClusterEnabled(), SQL: tc.Spec.TiDB != nil && tc.Spec.TiDB.IsTLSClientEnabled()},
		Paused:      tc.Spec.Paused,
		Pause:       pauseOf(tc),
		DDLPause:    ddlPauseOf(tc),
		Deleting:    tc.DeletionTimestamp != nil,
		Reclaims:    isTrue(tc.Spec.EnablePVReclaim),
		Written:     written,
		Maintained:  maintenances(tc),
		Source:      tc,

		VolumePolicy: corev1.PersistentVolumeReclaimRetain,
	}
	if p := tc.Spec.PVReclaimPolicy; p != nil && *p != "" {
		c.VolumePolicy = *p
	}
	if v, ok := tc.Labels[LabelInstance]; ok {
		c.Instance = v
	}
	for _, r := range readings {
		spec, ok := r.spec(tc)
		if !ok {
			continue
		}
		g := group(tc, r.kind, spec)
		if r.group != nil {
			r.group(tc, &g)
		}
		if r.recovery != nil {
			fields := r.recovery(tc)
			g.FailoverUID, g.Recover = fields.uid, fields.isAsked()
		}
		c.Groups = append(c.Groups, g)
	}
	digests := podDigests(written, c)
	for i := range c.Groups {
		c.Groups[i].Configured = given[c.Groups[i].Kind]
		c.Groups[i].Asked = digests[c.Groups[i].Kind]
		c.Groups[i].Unknown = unknownTo(written, c.Groups[i].Kind)
		c.Groups[i].Restarts = requestsOf[MemberRestart](written, AnnotationRestart, c, c.Groups[i].Kind)
		c.Groups[i].Replacements = requestsOf[MemberReplacement](written, AnnotationReplace, c, c.Groups[i].Kind)
	}
	c.setCanary()
	return c
}

// configured returns the components that the user gives a configuration.
func configured(tc *v1alpha1.TidbCluster) map[Kind]bool {
	given := map[Kind]bool{}
	for _, k := range Kinds() {
		if _, ok := part(tc, k); ok {
			given[k] = settings(tc, k) >= 0
		}
	}
	return given
}

// annMinReady returns the annotation that says how many seconds a restarted pod has to be Ready. Then
// the next pod of the component is restarted.
func annMinReady(k Kind) string {
	prefix := k.traits().prefix
	if prefix == "" {
		prefix = "tidb.pingcap.com"
	}
	return prefix + "/" + string(k) + "-min-ready-seconds"
}

func group(tc *v1alpha1.TidbCluster, k Kind, spec component) Group {
	seconds, _ := strconv.Atoi(tc.Annotations[annMinReady(k)])
	return Group{
		Kind:     k,
		Replicas: int(*spec.replicas),
		Slots:    SlotsAsked(tc, k),
		Image:    spec.image,
		Version:  Tag(spec.image),
		MinReady: time.Duration(max(seconds, 0)) * time.Second,
		Suspend:  suspends(spec.accessor),
		Failures: failures(tc.Status, k),
		InPlace:  k.Reloads() || spec.accessor.ConfigUpdateStrategy() == v1alpha1.ConfigUpdateStrategyInPlace,
		Manual:   spec.accessor.StatefulSetUpdateStrategy() == appsv1.OnDeleteStatefulSetStrategyType,
		ScaleOut: atOnce(spec.scale.ScaleOutParallelism),
		ScaleIn:  atOnce(spec.scale.ScaleInParallelism),
		Volumes:  volumes(k, spec),

		ReplacesVolumes: isTrue(tc.Spec.EnablePVCReplace),
		VolumesBegun:    k.Status(&tc.Status).GetVolReplaceInProgress(),
		VolumeSpare:     count(spec.spares) > 0,

		MaxFailures: count(spec.failovers),
	}
}

// atOnce returns a parallelism: 1 if the user gives none or a lower one.
func atOnce(n *int32) int { return max(count(n), 1) }

func count(n *int32) int {
	if n == nil {
		return 0
	}
	return max(int(*n), 0)
}

// Tag returns the tag in an image's name, "" without one: which version a digest is of is not known. A
// registry's port is no tag.
func Tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		return image[i+1:]
	}
	return ""
}

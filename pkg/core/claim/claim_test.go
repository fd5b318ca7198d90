package claim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/claim"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// live returns the claim of a member of cluster t in namespace ns.
func live(k topology.Kind, ordinal int) corev1.PersistentVolumeClaim {
	c := topology.Cluster{Namespace: "ns", Name: "t", Instance: "t"}
	out := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: k.DataVolume() + "-" + c.PodName(k, ordinal), UID: "u", ResourceVersion: "7", Labels: c.Labels(k),
	}}
	out.Spec.VolumeName, out.Spec.StorageClassName = "pv", new("fast")
	out.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	out.Status.Phase, out.Status.Capacity = corev1.ClaimBound, corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
	return out
}

// mounting returns the pod of a member, which mounts its claim.
func mounting(k topology.Kind, ordinal int) corev1.Pod {
	c := live(k, ordinal)
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: strings.TrimPrefix(c.Name, k.DataVolume()+"-")}}
	p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name},
	}}}
	return p
}

// TestOf: what keeps a claim, and which may be deleted.
func TestOf(t *testing.T) {
	marked := live(topology.TiKV, 3)
	marked.Annotations = map[string]string{topology.AnnotationDeferDeleting: "2026-01-01T00:00:00Z"}
	deleting := live(topology.TiKV, 3)
	deleting.DeletionTimestamp = &metav1.Time{Time: plantest.Now}
	other := live(topology.TiKV, 3)
	other.Labels[topology.LabelClusterID] = "6"
	ended := mounting(topology.TiKV, 3)
	ended.Status.Phase = corev1.PodSucceeded
	elsewhere := mounting(topology.TiKV, 3)
	elsewhere.Namespace = "other"
	for _, c := range []struct {
		name   string
		change func(*plantest.Cluster)
		claim  corev1.PersistentVolumeClaim
		pods   []corev1.Pod
		want   claim.State
		why    string
	}{
		{"a pod mounts it", nil, live(topology.TiKV, 0), []corev1.Pod{mounting(topology.TiKV, 0)}, claim.Used, ""},
		{"a pod that has ended", nil, live(topology.TiKV, 3), []corev1.Pod{ended}, claim.Left, "t-tikv-3 is not wanted any more"},
		{"a pod of another namespace", nil, live(topology.TiKV, 3), []corev1.Pod{elsewhere}, claim.Left, "not wanted"},
		{"wanted", nil, live(topology.TiKV, 2), nil, claim.Kept, "t-tikv-2 is wanted, and has no pod now"},
		{"suspended", func(c *plantest.Cluster) { c.Want(topology.TiKV).Suspend = true }, live(topology.TiKV, 0), nil, claim.Kept, "TiKV is suspended"},
		{"being scaled in", func(c *plantest.Cluster) { c.Want(topology.TiKV).Replicas = 2 }, live(topology.TiKV, 2), nil, claim.Kept, "has not left yet"},
		{"given up", func(c *plantest.Cluster) {
			c.Want(topology.TiKV).Failures = []topology.Failure{{Member: "t-tikv-1"}}
		}, live(topology.TiKV, 1), nil, claim.Kept, "failover"},
		{"PD has the store", func(c *plantest.Cluster) {
			c.Add(topology.TiKV)
			c.Offline("t-tikv-3")
		}, live(topology.TiKV, 3), nil, claim.InPD, "PD still has t-tikv-3 as store 4, which is Offline"},
		{"PD has the voter", func(c *plantest.Cluster) { c.Add(topology.PD) }, live(topology.PD, 3), nil, claim.InPD, "PD still has t-pd-3"},
		{"a tombstone", func(c *plantest.Cluster) { c.Add(topology.TiKV).Database.State = state.StoreTombstone }, marked, nil,
			claim.Left, "t-tikv-3 was removed, marked 2026-01-01T00:00:00Z"},
		{"PD does not answer", func(c *plantest.Cluster) { c.PDUnknown() }, marked, nil, claim.InPD, "PD could not be asked"},
		{"PD lists no stores", func(c *plantest.Cluster) { c.Seen.PD.Bootstrapped = false }, marked, nil, claim.InPD, "PD could not be asked"},
		{"PD does not say", func(c *plantest.Cluster) { c.Add(topology.TiKV).Database = state.Database{} }, marked, nil, claim.InPD, "not known"},
		{"PD does not list it", nil, marked, nil, claim.Left, "was removed"},
		{"of a component that is not in the spec", func(c *plantest.Cluster) { c.Seen.PD.PumpsKnown = true }, live(topology.Pump, 0), nil, claim.Left, "not wanted"},
		{"Pumps are unknown", nil, live(topology.Pump, 0), nil, claim.InPD, "PD could not be asked"},
		{"of another cluster", nil, other, nil, claim.Kept, "the cluster with the id 6, and PD's is 7"},
		{"of another cluster, and wanted", func(c *plantest.Cluster) { c.Want(topology.TiKV).Replicas = 4 }, other, nil, claim.Kept, "is wanted"},
		{"of this cluster", func(c *plantest.Cluster) { c.Seen.PD.ClusterID = 6 }, other, nil, claim.Left, "not wanted"},
		{"being deleted", nil, deleting, nil, claim.Deleting, "it is being deleted"},
		{"deleted, and mounted", nil, deleting, []corev1.Pod{mounting(topology.TiKV, 3)}, claim.Deleting, "when pod t-tikv-3 has ended"},
	} {
		cluster := plantest.New(3, 3, 1)
		if c.change != nil {
			c.change(cluster)
		}
		got := claim.Of(cluster.Wanted, cluster.Seen, []corev1.PersistentVolumeClaim{c.claim}, c.pods)
		if len(got) != 1 || got[0].State != c.want || !strings.Contains(got[0].Why, c.why) || c.why == "" && got[0].Why != "" {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		if got[0].Prunable(false) != (c.want == claim.Left) || got[0].Prunable(true) != (c.want == claim.Left || c.want == claim.InPD) {
			t.Errorf("%s: may be deleted: %t, despite PD: %t", c.name, got[0].Prunable(false), got[0].Prunable(true))
		}
	}
}

// TestRead: what a claim itself says, in the order of components and ordinals.
func TestRead(t *testing.T) {
	foreign, odd := live(topology.TiKV, 0), live(topology.TiKV, 0)
	foreign.Labels = map[string]string{topology.LabelComponent: "tikv", topology.LabelInstance: "other"}
	odd.Name = "backup"
	all := []corev1.PersistentVolumeClaim{live(topology.TiKV, 10), live(topology.TiKV, 2), live(topology.PD, 0), foreign, odd}
	got := claim.OfGone(topology.Cluster{Namespace: "ns", Name: "t", Instance: "t"}, nil, all, []corev1.Pod{mounting(topology.PD, 0)})
	var names []string
	for _, c := range got {
		names = append(names, fmt.Sprintf("%s %s", c.Name, c.State))
	}
	if want := []string{"pd-t-pd-0 Used", "tikv-t-tikv-2 Gone", "tikv-t-tikv-10 Gone"}; !slices.Equal(names, want) {
		t.Errorf("got %q", names)
	}
	want := claim.Claim{
		Namespace: "ns", Cluster: "t", Name: "tikv-t-tikv-2", UID: "u", Version: "7", Component: topology.TiKV, Member: "t-tikv-2", Ordinal: 2,
		Volume: "pv", Class: "fast", Phase: "Bound", Requested: 1 << 30, Capacity: 2 << 30, State: claim.Gone, Why: "TidbCluster t is deleted",
	}
	if diff := cmp.Diff(want, got[1]); diff != "" {
		t.Error(diff)
	}
}

// TestOfGone: a StatefulSet that was left behind keeps the claims of the pods that it makes again.
func TestOfGone(t *testing.T) {
	set := func(namespace, name string, replicas *int32) appsv1.StatefulSet {
		return appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.StatefulSetSpec{Replicas: replicas}}
	}
	for _, c := range []struct {
		name string
		set  appsv1.StatefulSet
		want [2]claim.State // of ordinals 0 and 1
	}{
		{"two replicas", set("ns", "t-tikv", new(int32(2))), [2]claim.State{claim.Kept, claim.Kept}},
		{"no number of replicas", set("ns", "t-tikv", nil), [2]claim.State{claim.Kept, claim.Gone}},
		{"no replicas", set("ns", "t-tikv", new(int32(0))), [2]claim.State{claim.Gone, claim.Gone}},
		{"another component", set("ns", "t-pd", new(int32(2))), [2]claim.State{claim.Gone, claim.Gone}},
		{"another namespace", set("other", "t-tikv", new(int32(2))), [2]claim.State{claim.Gone, claim.Gone}},
	} {
		cluster := topology.Cluster{Namespace: "ns", Name: "t", Instance: "t"}
		got := claim.OfGone(cluster, []appsv1.StatefulSet{c.set}, []corev1.PersistentVolumeClaim{live(topology.TiKV, 0), live(topology.TiKV, 1)}, nil)
		if len(got) != 2 || got[0].State != c.want[0] || got[1].State != c.want[1] {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		if kept := got[0].State == claim.Kept; kept == got[0].Prunable(true) || kept != strings.Contains(got[0].Why, "StatefulSet t-tikv still exists") {
			t.Errorf("%s: %+v", c.name, got[0])
		}
	}
}

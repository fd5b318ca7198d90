package observe

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// TestOtherParts: while PD is to be suspended and still there, the pods of the parts that use PD are read, in all their
// namespaces. A component that is to run counts without a pod as well. Else nothing is read.
func TestOtherParts(t *testing.T) {
	in := func(namespace, name, instance string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: topology.Cluster{Name: instance, Instance: instance}.Selector()},
			Status:     corev1.PodStatus{Phase: phase},
		}
	}
	pod := func(name, instance string, phase corev1.PodPhase) *corev1.Pod { return in("db", name, instance, phase) }
	o := through(unasked(t))
	o.kube = fake.NewClientset(
		pod("more-tikv-0", "more", corev1.PodRunning), pod("more-tidb-0", "more", corev1.PodPending), pod("more-tidb-1", "more", corev1.PodFailed),
		pod("more-backup", "more", corev1.PodRunning), pod("other-tikv-0", "other", corev1.PodRunning),
		in("reports", "more-tidb-7", "more", corev1.PodRunning),
	)
	reports := topology.Cluster{Namespace: "reports", Name: "more", Instance: "more", Groups: []topology.Group{{Kind: topology.TiDB, Replicas: 1}, {Kind: topology.TiFlash, Replicas: 1}}}
	more := topology.Cluster{Namespace: "db", Name: "more", Instance: "more", Groups: []topology.Group{{Kind: topology.TiKV, Suspend: true}, {Kind: topology.TiDB}}}
	reads := 0
	var fails error
	o.Joining(func(context.Context, topology.Cluster) (intent.Parts, error) {
		reads++
		return intent.Parts{Known: []topology.Cluster{more, reports}, Unread: true}, fails
	})
	c, suspended := basic, basic
	suspended.Source = &v1alpha1.TidbCluster{}
	c.Groups = []topology.Group{{Kind: topology.PD, Replicas: 1}}
	suspended.Groups = []topology.Group{{Kind: topology.PD, Replicas: 1, Suspend: true}}
	runs := Objects{Sets: []*appsv1.StatefulSet{{ObjectMeta: metav1.ObjectMeta{Name: "basic-pd"}}}}.sort(c)
	for _, quiet := range []state.OtherParts{o.otherParts(t.Context(), c, runs), o.otherParts(t.Context(), suspended, Objects{}.sort(c))} {
		if !reflect.DeepEqual(quiet, state.OtherParts{}) || reads > 0 {
			t.Errorf("%+v after %d reads", quiet, reads)
		}
	}
	want := state.OtherParts{Unknown: true, Running: []state.RunningElsewhere{
		{Member: "more-tidb-0", Namespace: "db", Part: "more"}, {Member: "more-tidb-7", Namespace: "reports", Part: "more"},
		{Member: "more-tiflash", Namespace: "reports", Part: "more"}, {Member: "more-tikv-0", Namespace: "db", Part: "more", Suspended: true},
	}}
	if got := o.otherParts(t.Context(), suspended, runs); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	suspended.AcrossK8s, suspended.Source.Status.ClusterID, want.Across = true, "7", true
	if got := o.otherParts(t.Context(), suspended, runs); !reflect.DeepEqual(got, want) {
		t.Errorf("over several Kubernetes clusters: %+v", got)
	}
	fails = errors.New("no answer")
	if got := o.otherParts(t.Context(), suspended, runs); got.Problem != "no answer" || got.Running != nil {
		t.Errorf("%+v", got)
	}
}

package observe

import (
	"context"
	"errors"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestOtherParts: while PD is to be suspended and still there, the pods of the parts that use it are read. Else nothing
// is read.
func TestOtherParts(t *testing.T) {
	pod := func(name, instance string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name, Labels: map[string]string{topology.LabelInstance: instance}},
			Status:     corev1.PodStatus{Phase: phase},
		}
	}
	o := through(unasked(t))
	o.kube = fake.NewClientset(
		pod("more-tikv-0", "more", corev1.PodRunning), pod("more-tidb-0", "more", corev1.PodPending), pod("more-tidb-1", "more", corev1.PodFailed),
		pod("more-backup", "more", corev1.PodRunning), pod("other-tikv-0", "other", corev1.PodRunning),
	)
	more := topology.Cluster{Namespace: "db", Name: "more", Instance: "more", Groups: []topology.Group{{Kind: topology.TiKV, Suspend: true}, {Kind: topology.TiDB}}}
	reads := 0
	var fails error
	o.Joining(func(context.Context, topology.Cluster) ([]topology.Cluster, error) {
		reads++
		return []topology.Cluster{more}, fails
	})
	c, suspended := basic, basic
	c.Groups = []topology.Group{{Kind: topology.PD, Replicas: 1}}
	suspended.Groups = []topology.Group{{Kind: topology.PD, Replicas: 1, Suspend: true}}
	runs := Objects{Sets: []*appsv1.StatefulSet{{ObjectMeta: metav1.ObjectMeta{Name: "basic-pd"}}}}.sort(c)
	for _, quiet := range []state.OtherParts{o.otherParts(t.Context(), c, runs), o.otherParts(t.Context(), suspended, Objects{}.sort(c))} {
		if !reflect.DeepEqual(quiet, state.OtherParts{}) || reads > 0 {
			t.Errorf("%+v after %d reads", quiet, reads)
		}
	}
	want := state.OtherParts{Running: []state.RunningElsewhere{
		{Member: "more-tidb-0", Namespace: "db", Part: "more"}, {Member: "more-tikv-0", Namespace: "db", Part: "more", Suspended: true},
	}}
	if got := o.otherParts(t.Context(), suspended, runs); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	fails = errors.New("no answer")
	if got := o.otherParts(t.Context(), suspended, runs); got.Problem != "no answer" || got.Running != nil {
		t.Errorf("%+v", got)
	}
}

package observe

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestNodesOfPods: a node is read only where its pod has ended or stays Terminating, once for all pods there, and again
// after a while. What may not be read is unknown.
func TestNodesOfPods(t *testing.T) {
	node := func(name string, ready corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}},
		}}
	}
	for name, c := range map[string]struct {
		pod       state.Pod
		forbidden bool
		want      state.NodeState
		reads     int // in two observations at once
	}{
		"ended":                         {state.Pod{Node: "up", Ended: true}, false, state.NodeReady, 1},
		"stays Terminating":             {state.Pod{Node: "lost", Overdue: true}, false, state.NodeNotReady, 1},
		"on a node that does not exist": {state.Pod{Node: "gone", Overdue: true}, false, state.NodeMissing, 1},
		"nodes may not be read":         {state.Pod{Node: "up", Ended: true}, true, state.NodeUnknown, 1},
		"neither":                       {state.Pod{Node: "up"}, false, state.NodeUnknown, 0},
		"without a node":                {state.Pod{Ended: true}, false, state.NodeUnknown, 0},
		"not Ready for a while":         {state.Pod{Node: "lost", Since: noon.Add(-time.Minute), Started: noon.Add(-time.Hour)}, false, state.NodeNotReady, 1},
		"not Ready for a moment":        {state.Pod{Node: "lost", Since: noon.Add(-10 * time.Second), Started: noon.Add(-time.Hour)}, false, state.NodeUnknown, 0},
		"started a moment ago":          {state.Pod{Node: "lost", Since: noon.Add(-time.Hour), Started: noon.Add(-10 * time.Second)}, false, state.NodeUnknown, 0},
		"does not run":                  {state.Pod{Node: "lost", Since: noon.Add(-time.Hour)}, false, state.NodeUnknown, 0},
		"Ready":                         {state.Pod{Node: "lost", Ready: true, Since: noon.Add(-time.Hour), Started: noon.Add(-time.Hour)}, false, state.NodeUnknown, 0},
	} {
		kube, reads := fake.NewClientset(node("up", corev1.ConditionTrue), node("lost", corev1.ConditionUnknown)), 0
		kube.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			reads++
			return c.forbidden, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil)
		})
		n, p := newNodes(), c.pod
		for range 2 {
			n.read(t.Context(), kube, noon, []state.Member{{}, {Pod: &p}})
		}
		if p.NodeState != c.want || reads != c.reads {
			t.Errorf("%s: %d after %d reads, want %d after %d", name, p.NodeState, reads, c.want, c.reads)
		}
	}
}

// TestNodeReports: each node with members is read once. A node that may not be read is left out.
func TestNodeReports(t *testing.T) {
	lost := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lost"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(noon), Message: "Kubelet stopped posting node status."},
	}}}
	on := func(node string) state.Member { return state.Member{Pod: &state.Pod{Node: node}} }
	seen := state.Snapshot{Groups: map[topology.Kind]state.Group{
		topology.PD: {Members: []state.Member{{}, on(""), on("lost")}}, topology.TiKV: {Members: []state.Member{on("lost"), on("gone")}},
	}}
	want := map[string]state.NodeReport{
		"lost": {State: state.NodeNotReady, Since: noon, Message: "Kubelet stopped posting node status."}, "gone": {State: state.NodeMissing},
	}
	kube := fake.NewClientset(lost)
	got := NodeReports(t.Context(), kube, seen)
	if !maps.Equal(got, want) || len(kube.Actions()) != 2 {
		t.Errorf("got %+v after %d reads, want %+v", got, len(kube.Actions()), want)
	}
	kube.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil)
	})
	if got := NodeReports(t.Context(), kube, seen); len(got) != 0 {
		t.Errorf("nodes may not be read: %+v", got)
	}
}

func TestOverdue(t *testing.T) {
	for after, want := range map[time.Duration]bool{-time.Minute: false, 10 * time.Second: false, time.Minute: true} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: noon.Add(-after)}}}
		if got := overdue(p, noon); got != want {
			t.Errorf("%s after its time: %v", after, got)
		}
	}
	if overdue(&corev1.Pod{}, noon) {
		t.Error("a pod that is not being deleted")
	}
}

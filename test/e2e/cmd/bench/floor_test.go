package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/node"
)

func TestSums(t *testing.T) {
	runs := []restarts{
		{{"pd", 5 * s}, {"pd", 6 * s}, {"tikv", 2 * s}, {"tikv", 4 * s}, {"tidb", 12 * s}},
		{{"pd", 4 * s}, {"pd", 4 * s}, {"tikv", 3 * s}, {"tikv", 5 * s}, {"tidb", 10 * s}},
		{{"pd", 9 * s}, {"pd", 9 * s}, {"tikv", 9 * s}, {"tikv", 9 * s}, {"tidb", 10 * s}},
	}
	if got, want := sums(runs, "pd"), (times{11 * s, 8 * s, 18 * s}); !slices.Equal(got, want) {
		t.Errorf("PD: %v, want %v", got, want)
	}
	if got, want := sums(runs, ""), (times{29 * s, 26 * s, 46 * s}); !slices.Equal(got, want) {
		t.Errorf("all: %v, want %v", got, want)
	}
	if got := allPods(floors{restarts: runs}); got != 29*s {
		t.Errorf("the floor of an upgrade is %v, want 29 s", got)
	}
	if got := oneStore(floors{restarts: runs}); got != 5*s {
		t.Errorf("the floor of a new store is %v, want 5 s", got)
	}
	if got := removedStore(floors{removals: times{9 * s, 2 * s, 4 * s}}); got != 4*s {
		t.Errorf("the floor of a scale-in is %v, want 4 s", got)
	}
	if none := (floors{}); allPods(none) != 0 || oneStore(none) != 0 || removedStore(none) != 0 {
		t.Error("there is a floor without anything that was measured")
	}
}

func TestAfter(t *testing.T) {
	names := []string{"pd-0", "pd-1", "pd-2"}
	for _, c := range [][2]string{{"pd-0", "pd-1"}, {"pd-2", "pd-0"}, {"gone", "pd-0"}} {
		if got := after(names, c[0]); got != c[1] {
			t.Errorf("after %s comes %s, want %s", c[0], got, c[1])
		}
	}
}

// cluster of fakes: a pod that is deleted is there again at once, Ready, and with another UID.
func fakes(pods ...string) (target, *[]string) {
	var deleted []string
	var objects []runtime.Object
	for _, name := range pods {
		objects = append(objects, fakePod(name, 0))
	}
	kube := fake.NewClientset(objects...)
	kube.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.DeleteAction).GetName()
		deleted = append(deleted, name)
		return true, nil, kube.Tracker().Update(action.GetResource(), fakePod(name, len(deleted)), "ns")
	})
	return newTarget(&node.Node{Kube: kube}, nil, "", "ns"), &deleted
}

func fakePod(name string, generation int) *corev1.Pod {
	component, _, _ := strings.Cut(name, "-")
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID(fmt.Sprint(name, generation)),
			Labels: map[string]string{"app.kubernetes.io/component": component, "app.kubernetes.io/instance": cluster},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// PD's leader comes last, and does not lead any more when its pod is deleted.
func TestRestarts(t *testing.T) {
	target, deleted := fakes("pd-0", "pd-1", "pd-2", "tikv-0", "tikv-1", "tidb-0")
	client := pd.NewFake(3, 0)
	all, err := target.restarts(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"pd-1", "pd-2", "pd-0", "tikv-0", "tikv-1", "tidb-0"}
	if !slices.Equal(*deleted, want) {
		t.Errorf("deleted %v, want %v", *deleted, want)
	}
	if len(all.of("pd")) != 3 || len(all.of("tikv")) != 2 || len(all.of("tidb")) != 1 || len(all.of("")) != 6 {
		t.Errorf("restarts %v", all)
	}
	if leader, err := client.Leader(t.Context()); err != nil || leader.Name != "pd-1" {
		t.Errorf("%v leads, %v; want pd-1", leader, err)
	}
}

// A member of PD serves when PD calls it healthy, not when its pod is Ready.
func TestRestartAwaitsHealth(t *testing.T) {
	target, deleted := fakes("pd-1")
	client := pd.NewFake(3, 0)
	client.Update(func(s *pd.FakeState) { s.Unhealthy["pd-1"] = true })
	asked := 0
	client.Hook = func(_ context.Context, call string) error {
		if asked++; call == "Health()" && len(*deleted) == 1 && asked > 2 {
			client.Update(func(s *pd.FakeState) { s.Unhealthy["pd-1"] = false })
		}
		return nil
	}
	took, err := target.restart(t.Context(), client, components[0], "pd-1")
	if err != nil || asked != 3 || took < 3*look {
		t.Errorf("%v after %v, asked %d times; want 3 questions", err, took, asked)
	}
}

func TestMoveLeader(t *testing.T) {
	client := pd.NewFake(3, 0)
	client.Update(func(s *pd.FakeState) { s.Unhealthy["pd-1"] = true })
	if m, err := moveLeader(t.Context(), client); err != nil || m.from != "pd-0" || m.to != "pd-2" {
		t.Errorf("%v %v, want a move from pd-0 to pd-2, since pd-1 is not healthy", m, err)
	}
	client.Update(func(s *pd.FakeState) { s.Unhealthy["pd-0"] = true })
	if m, err := moveLeader(t.Context(), client); err == nil {
		t.Errorf("%v, and there is no second healthy member", m)
	}
}

func TestBareMoveText(t *testing.T) {
	m := bareMove{from: "pd-0", to: "pd-1", took: 1250 * time.Millisecond}
	m.account.Longest = 1100 * time.Millisecond
	if got, want := m.String(), "from pd-0 to pd-1 in 1.25 s: longest write 1.10 s, 0 failed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

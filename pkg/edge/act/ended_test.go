package act

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

func node(ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}},
	}}
}

// TestReplaceEnded: a pod in a final phase is deleted where its kubelet is heard, or else where PD says that its member
// does not serve. Both are read in the step: what was decided on may be minutes old.
func TestReplaceEnded(t *testing.T) {
	heard, lost := node(corev1.ConditionTrue), node(corev1.ConditionUnknown)
	silence := func(s *pd.FakeState) { s.Stores[3].StateName = "Disconnected"; s.Unhealthy[cluster.PDName(2)] = true }
	for name, c := range map[string]struct {
		pod        func(*corev1.Pod)
		node       *corev1.Node
		byDatabase bool
		set        func(*pd.FakeState)
		claim      *corev1.PersistentVolumeClaim
		stale      bool
		nothing    bool // it was done before
	}{
		"its node is Ready":                    {node: heard},
		"its node is Ready, and PD is silent":  {node: heard, set: func(s *pd.FakeState) { s.Leader = "" }},
		"phase Succeeded":                      {node: heard, pod: func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }},
		"it is not in a final phase":           {node: heard, pod: func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, stale: true},
		"a container of it runs by its status": {node: heard, pod: func(p *corev1.Pod) { running(p); p.Spec.NodeName = "n1" }, stale: true},
		"a sidecar of it runs by its status": {node: heard, stale: true, pod: func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "s", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		}},
		"its data would go":                         {node: heard, claim: going(claim(topology.TiKV, 3, false)), stale: true},
		"another pod has taken its place":           {node: heard, pod: func(p *corev1.Pod) { p.UID = "next" }, nothing: true},
		"its node is not Ready now":                 {node: lost, stale: true},
		"its node is gone now":                      {stale: true},
		"PD agrees, its node is not Ready":          {node: lost, byDatabase: true, set: silence},
		"PD agrees, its node is gone":               {byDatabase: true, set: silence},
		"PD does not agree any more":                {node: lost, byDatabase: true, stale: true},
		"PD does not agree any more, node is Ready": {node: heard, byDatabase: true},
	} {
		for _, k := range []topology.Kind{topology.PD, topology.TiKV} {
			t.Run(name+"/"+string(k), func(t *testing.T) {
				ordinal := map[topology.Kind]int{topology.PD: 2, topology.TiKV: 3}[k]
				p := mounting(k, ordinal)
				p.Status.Phase, p.Spec.NodeName = corev1.PodFailed, "n1"
				uid := string(p.UID)
				if c.pod != nil {
					c.pod(p)
				}
				objects := []runtime.Object{p, claim(k, ordinal, false)}
				if c.claim != nil && k == topology.TiKV {
					objects[1] = c.claim
				} else if c.claim != nil {
					objects[1] = going(claim(k, ordinal, false))
				}
				if c.node != nil {
					objects = append(objects, c.node)
				}
				w := newFixture(t, objects...)
				if c.set != nil {
					w.pd.Update(c.set)
				}
				next := step.ReplaceEnded{Component: k, Member: p.Name, UID: uid, ByDatabase: c.byDatabase}
				switch {
				case c.stale:
					w.isStale(t, next)
				case c.nothing:
					w.do(t, next)
					w.unchanged(t)
				default:
					w.do(t, next)
					if got := w.writes(); len(got) != 1 || got[0] != "delete pods" {
						t.Errorf("did %q", got)
					}
				}
			})
		}
	}
}

// TestReplaceEndedOfServer: of a TiDB server only the kubelet knows. Where nodes may not be read, its pod stays.
func TestReplaceEndedOfServer(t *testing.T) {
	p := pod(topology.TiDB, 0)
	p.Status.Phase, p.Spec.NodeName = corev1.PodFailed, "n1"
	w := newFixture(t, p, node(corev1.ConditionTrue))
	s := step.ReplaceEnded{Component: topology.TiDB, Member: p.Name, UID: string(p.UID)}
	w.kube.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n1", errors.New("no"))
	})
	w.isStale(t, s)
}

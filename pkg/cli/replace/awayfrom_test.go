package replace

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestLeaving: members leave a node that is cordoned. Nothing leaves a node on which Kubernetes may put the members again.
func TestLeaving(t *testing.T) {
	for _, c := range []struct {
		name   string
		o      options
		change func(*corev1.Node, *corev1.Pod)
		want   []string
		code   exit.Code
		says   string
		asked  string // a member that waits for its replacement
		claims bool   // a server on the node has a claim
	}{
		{name: "all members with data", o: options{awayFrom: "node-1"}, want: []string{"t-pd-1", "t-tikv-1"}},
		{name: "all members with data, and a server with a claim", o: options{awayFrom: "node-1"}, claims: true, want: []string{"t-pd-1", "t-tidb-1", "t-tikv-1"}},
		{name: "one member", o: options{awayFrom: "node-1", members: []string{"t-tikv-1"}}, want: []string{"t-tikv-1"}},
		{name: "those of a component", o: options{awayFrom: "node-1", allOf: []string{"tikv"}}, want: []string{"t-tikv-1"}},
		{name: "none", o: options{awayFrom: "node-9"}},
		{name: "a member elsewhere", o: options{awayFrom: "node-1", members: []string{"t-tikv-2"}}, code: exit.Refused, says: "t-tikv-2 is on node-2, and not on node-1; nothing was changed"},
		{name: "no such member", o: options{awayFrom: "node-1", members: []string{"t-tikv-8"}}, code: exit.Usage, says: "has no member t-tikv-8"},
		{name: "a server", o: options{awayFrom: "node-1", members: []string{"t-tidb-1"}}, code: exit.Refused, says: "has no claims now"},
		{name: "no such node", o: options{awayFrom: "node-8"}, code: exit.Usage, says: "there is no node node-8, and no volume is known that can be used only there; see which nodes there are: kubectl get nodes"},
		{name: "no such node, and a member waits", o: options{awayFrom: "node-8"}, asked: "t-tikv-1", code: exit.Refused,
			says: "there is no node node-8, and t-tikv-1 is to be replaced already; nothing was changed; go on with what was asked for: kubectl tidb sync t -n ns"},
		{name: "a node that was deleted", o: options{awayFrom: "node-7"}, want: []string{"t-pd-2", "t-tikv-3"}},
		{name: "a node that was deleted, one member", o: options{awayFrom: "node-7", members: []string{"t-tikv-3"}}, want: []string{"t-tikv-3"}},
		{name: "a node that was deleted, one component", o: options{awayFrom: "node-7", allOf: []string{"pd"}}, want: []string{"t-pd-2"}},
		{name: "a node that was deleted, and a member elsewhere", o: options{awayFrom: "node-7", members: []string{"t-tikv-2"}}, code: exit.Refused,
			says: "there is no node node-7, and no volume of t-tikv-2 is known that can be used only there; nothing was changed"},
		{name: "no right to read nodes", o: options{awayFrom: "secret"}, code: exit.Forbidden, says: "get node secret, to see whether it takes new pods: nodes \"secret\" is forbidden"},
		{name: "not cordoned", o: options{awayFrom: "node-1", members: []string{"t-tikv-1"}, spare: true}, change: func(n *corev1.Node, _ *corev1.Pod) { n.Spec.Unschedulable = false },
			code: exit.Refused, says: "node node-1 takes new pods, so that members may come back there; nothing was changed; " +
				"cordon it first: kubectl cordon node-1 && kubectl tidb replace t t-tikv-1 --away-from node-1 --spare -n ns"},
		{name: "not cordoned, a component", o: options{awayFrom: "node-1", allOf: []string{"tikv", "pd"}}, change: func(n *corev1.Node, _ *corev1.Pod) { n.Spec.Unschedulable = false },
			code: exit.Refused, says: "kubectl tidb replace t --all-of tikv,pd --away-from node-1 -n ns"},
		{name: "a pod that tolerates it", o: options{awayFrom: "node-1"}, change: func(_ *corev1.Node, p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "other", Operator: corev1.TolerationOpExists}, {Operator: corev1.TolerationOpExists}}
		}, code: exit.Refused, says: "pod t-tikv-1 tolerates the taint node.kubernetes.io/unschedulable"},
		{name: "a pod that tolerates another taint", o: options{awayFrom: "node-1"}, change: func(_ *corev1.Node, p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "other", Operator: corev1.TolerationOpExists}}
		}, want: []string{"t-pd-1", "t-tikv-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := plantest.New(3, 4, 2)
			for _, name := range []string{"t-pd-2", "t-tikv-3"} {
				m := cluster.Member(name)
				m.Pod.Node, m.LostVolume = "", state.LostVolume{Name: "pv-" + name, Nodes: []string{"node-7"}}
			}
			now := topology.Cluster{Namespace: "ns", Name: "t", Written: &v1alpha1.TidbCluster{}}
			for _, g := range cluster.Wanted.Groups {
				now.Groups = append(now.Groups, g.Group)
			}
			if c.asked != "" {
				topology.AskMemberReplacements(now.Written, requests{c.asked: {Claims: uidsOf(*cluster.Member(c.asked))}})
			}
			node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Spec: corev1.NodeSpec{Unschedulable: true}}
			empty := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-9"}, Spec: node.Spec}
			pod := func(name string) *corev1.Pod {
				return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
			}
			if c.claims {
				cluster.Member("t-tidb-1").Claims = []state.Claim{{UID: "log"}}
			}
			store := pod("t-tikv-1")
			if c.change != nil {
				c.change(&node, store)
			}
			kube := fake.NewClientset(&node, &empty, store, pod("t-pd-1"), pod("t-tidb-1"))
			kube.PrependReactor("get", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
				name := a.(clienttesting.GetAction).GetName()
				return name == "secret", nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, name, errors.New("no rule"))
			})
			var got []string
			left, err := c.o.leftNode(t.Context(), kube)
			if err == nil {
				got, err = c.o.leaving(t.Context(), kube, left, replacement{now: now.Written, cluster: now, groups: cluster.Seen.Groups})
			}
			if exit.Of(err) != c.code || err != nil && !strings.Contains(remedy.Text(err, ""), c.says) {
				t.Fatalf("exit code %d: %v, wanted %d, %q", exit.Of(err), err, c.code, c.says)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			for _, a := range kube.Actions() {
				if a.GetVerb() != "get" {
					t.Errorf("%s of %s was asked for", a.GetVerb(), a.GetResource())
				}
			}
		})
	}
}

package observe

import (
	"errors"
	"slices"
	"strings"
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

// onNodes is the node affinity of a volume, with a term for each requirement.
func onNodes(all ...corev1.NodeSelectorRequirement) *corev1.VolumeNodeAffinity {
	s := &corev1.NodeSelector{}
	for _, r := range all {
		term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{r}}
		if r.Key == metav1.ObjectNameField {
			term = corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{r}}
		}
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, term)
	}
	return &corev1.VolumeNodeAffinity{Required: s}
}

func in(key string, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

// selectByName makes a server of nodes select by their names, as the API server does.
func selectByName(kube *fake.Clientset) {
	kube.PrependReactor("list", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		name, by := a.(clienttesting.ListAction).GetListRestrictions().Fields.RequiresExactMatch(metav1.ObjectNameField)
		if !by {
			return false, nil, nil
		}
		node, err := kube.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", name)
		if err != nil {
			return true, &corev1.NodeList{}, nil
		}
		return true, &corev1.NodeList{Items: []corev1.Node{*node.(*corev1.Node)}}, nil
	})
}

// TestLostVolumes: a volume is lost where it names its nodes, and none of these exists. Nothing is said of a volume that
// a new node could use, and nothing is read for a pod that has a node. A node without the label that its driver sets may
// be the one that is named, so that nothing is known then.
func TestLostVolumes(t *testing.T) {
	const host, driver = corev1.LabelHostname, "topology.topolvm.io/node"
	labelled := func(name, value string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{host: name, driver: value}}}
	}
	for name, c := range map[string]struct {
		affinity *corev1.VolumeNodeAffinity
		change   func(*state.Pod)
		forbid   string // "get persistentvolumes" or "list nodes"
		absent   bool   // there is no such volume
		want     string
		reads    int // in two observations at once
		gap      string
		nodes    []*corev1.Node // besides n1 and n2.example.com
	}{
		"its node does not exist":             {affinity: onNodes(in(host, "n3")), want: "volume pv-x can be used only on node n3, which does not exist", reads: 4},
		"its node exists":                     {affinity: onNodes(in(host, "n1")), reads: 2},
		"the label is not the node's name":    {affinity: onNodes(in(host, "n2.example.com")), reads: 3},
		"a label that is not the node's name": {affinity: onNodes(in(host, "host-2")), reads: 2},
		"one of two values is no value of a label, and the other node exists": {affinity: onNodes(in(host, "host-2", "no label")), reads: 2},
		"none of two nodes exists":                                          {affinity: onNodes(in(host, "n3", "n4")), want: "volume pv-x can be used only on nodes n3, n4, which do not exist", reads: 5},
		"one of two nodes exists":                                           {affinity: onNodes(in(host, "n3"), in(host, "n1")), reads: 5},
		"a driver's label, no node has it":                                  {affinity: onNodes(in(driver, "n3")), reads: 5, gap: "nodes of volumes"},
		"a driver's label, yet to be set":                                   {affinity: onNodes(in(driver, "n1")), reads: 3},
		"a driver's label, yet to be set, of a node with another host name": {affinity: onNodes(in(driver, "n2.example.com")), reads: 4},
		"a driver's label with names, its node does not exist": {affinity: onNodes(in(driver, "n3")), nodes: []*corev1.Node{labelled("n4", "n4")},
			want: "volume pv-x can be used only on node n3, which does not exist", reads: 5},
		"a driver's label with other values, and a node without it": {affinity: onNodes(in(driver, "id-3")), nodes: []*corev1.Node{labelled("n4", "id-4")}, reads: 6, gap: "nodes of volumes"},
		"a driver's label with other values, and all nodes have it": {affinity: onNodes(in(driver, "id-3")), nodes: []*corev1.Node{labelled("n1", "id-1"), labelled("n2.example.com", "id-2")},
			want: "volume pv-x can be used only on node id-3, which does not exist", reads: 6},
		"a driver's label with other values, its node exists": {affinity: onNodes(in(driver, "id-4")), nodes: []*corev1.Node{labelled("n4", "id-4")}, reads: 2},
		"one of two nodes is not known":                       {affinity: onNodes(in(driver, "n3"), in(host, "n3")), reads: 8, gap: "nodes of volumes"},
		"one of two nodes is not known, and the other exists": {affinity: onNodes(in(driver, "n3"), in(host, "n1")), reads: 6},
		"a zone without nodes":                                {affinity: onNodes(in(corev1.LabelTopologyZone, "z9")), reads: 1},
		"a node or a zone":                                    {affinity: onNodes(in(host, "n3"), in(corev1.LabelTopologyZone, "z9")), reads: 1},
		"any node but one":                                    {affinity: onNodes(corev1.NodeSelectorRequirement{Key: host, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"n3"}}), reads: 1},
		"no affinity":                                         {reads: 1},
		"the volume does not exist":                           {absent: true, want: "volume pv-x does not exist", reads: 1},
		"volumes may not be read":                             {affinity: onNodes(in(host, "n3")), forbid: "get persistentvolumes", reads: 1, gap: "volumes of pods"},
		"nodes may not be read":                               {affinity: onNodes(in(host, "n3")), forbid: "list nodes", reads: 2, gap: "nodes of volumes"},
		"the pod has a node":                                  {affinity: onNodes(in(host, "n3")), change: func(p *state.Pod) { p.Node = "n1" }},
		"the pod is new":                                      {affinity: onNodes(in(host, "n3")), change: func(p *state.Pod) { p.Made = noon.Add(-4 * time.Second) }},
		"the pod is being deleted":                            {affinity: onNodes(in(host, "n3")), change: func(p *state.Pod) { p.Terminating = true }},
		"the pod has ended":                                   {affinity: onNodes(in(host, "n3")), change: func(p *state.Pod) { p.Ended = true }},
	} {
		nodes := []runtime.Object{
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{host: "n1"}}},
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2.example.com", Labels: map[string]string{host: "host-2"}}},
		}
		for _, n := range c.nodes {
			nodes = append(slices.DeleteFunc(nodes, func(o runtime.Object) bool { return o.(*corev1.Node).Name == n.Name }), n)
		}
		kube := fake.NewClientset(nodes...)
		selectByName(kube)
		if !c.absent {
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-x"}, Spec: corev1.PersistentVolumeSpec{NodeAffinity: c.affinity}}
			if err := kube.Tracker().Add(volume); err != nil {
				t.Fatal(err)
			}
		}
		if verb, resource, ok := strings.Cut(c.forbid, " "); ok {
			kube.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
			})
		}
		o := &Observer{kube: kube, now: func() time.Time { return noon }, lost: memory[state.LostVolume]{fresh: nodesKept}}
		var m state.Member
		var gaps []state.Gap
		for range 2 {
			p := state.Pod{Made: noon.Add(-5 * time.Second), Problem: "Unschedulable"}
			if c.change != nil {
				c.change(&p)
			}
			m = state.Member{Pod: &p, Claims: []state.Claim{{Name: "new", UID: "2"}, {Name: "pd-x", UID: "1"}}}
			s := state.Snapshot{Groups: map[topology.Kind]state.Group{topology.PD: {Members: []state.Member{{}, m}}}}
			gaps = o.readLostVolumes(t.Context(), map[string]string{"1": "pv-x"}, &s)
			m = s.Groups[topology.PD].Members[1]
		}
		got, problem := "", "Unschedulable"
		if m.LacksVolume() {
			got, problem = m.LostVolume.String(), problem+"; "+c.want
		}
		if got != c.want || m.Pod.Problem != problem || len(kube.Actions()) != c.reads {
			t.Errorf("%s: %q, %q after %d reads, want %q after %d", name, got, m.Pod.Problem, len(kube.Actions()), c.want, c.reads)
		}
		if said := slices.ContainsFunc(gaps, func(g state.Gap) bool { return strings.HasPrefix(g.What, c.gap) }); said != (c.gap != "") {
			t.Errorf("%s: gaps %v, want %q", name, gaps, c.gap)
		}
	}
}

// TestLostVolumeByName: a volume may name its node by the name of the Node object.
func TestLostVolumeByName(t *testing.T) {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-x"}, Spec: corev1.PersistentVolumeSpec{NodeAffinity: onNodes(in(metav1.ObjectNameField, "n3"))}}
	kube := fake.NewClientset(v, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	selectByName(kube)
	o := &Observer{kube: kube, now: func() time.Time { return noon }}
	if lost, _, err := o.readLostVolume(t.Context(), "pv-x", "pd-x"); err != nil || lost.Claim != "pd-x" || !slices.Equal(lost.Nodes, []string{"n3"}) {
		t.Errorf("%+v, %v", lost, err)
	}
	v.Spec.NodeAffinity = onNodes(in(metav1.ObjectNameField, "n1"))
	if err := kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("persistentvolumes"), v, ""); err != nil {
		t.Fatal(err)
	}
	if lost, _, err := o.readLostVolume(t.Context(), "pv-x", "pd-x"); err != nil || lost.Name != "" {
		t.Errorf("%+v, %v", lost, err)
	}
}

// TestLostVolumeWithoutPermission: a volume that was lost is unknown as soon as nodes may not be read any more. The node
// may be there again.
func TestLostVolumeWithoutPermission(t *testing.T) {
	m := memory[state.LostVolume]{fresh: nodesKept}
	denied := error(nil)
	read := func(after time.Duration) state.LostVolume {
		return m.readOnce(noon.Add(after), "1", func() (state.LostVolume, *state.Gap, error) {
			if denied != nil {
				return state.LostVolume{}, &state.Gap{What: nodesOfVolumes}, denied
			}
			return state.LostVolume{Name: "pv-x"}, nil, nil
		})
	}
	if got := read(0); got.Name != "pv-x" {
		t.Errorf("%+v", got)
	}
	denied = apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", errors.New(`User "ann" cannot list resource`))
	for _, after := range []time.Duration{nodesKept, nodesKept + time.Second, deniedFor} {
		if got := read(after); got.Name != "" {
			t.Errorf("after %s: %+v", after, got)
		}
	}
}

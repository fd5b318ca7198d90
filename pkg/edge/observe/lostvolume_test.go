package observe

import (
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

// TestLostVolumes: a volume is lost where it names its nodes, and none of these exists. Nothing is said of a volume that
// a new node could use, and nothing is read for a pod that has a node.
func TestLostVolumes(t *testing.T) {
	const host = corev1.LabelHostname
	for name, c := range map[string]struct {
		affinity *corev1.VolumeNodeAffinity
		change   func(*state.Pod)
		forbid   string // "get persistentvolumes" or "list nodes"
		absent   bool   // there is no such volume
		want     string
		reads    int // in two observations at once
		gap      string
	}{
		"its node does not exist":             {affinity: onNodes(in(host, "n3")), want: "volume pv-x can be used only on node n3, which does not exist", reads: 2},
		"its node exists":                     {affinity: onNodes(in(host, "n1")), reads: 2},
		"the label is not the node's name":    {affinity: onNodes(in(host, "n2.example.com")), want: "volume pv-x can be used only on node n2.example.com, which does not exist", reads: 2},
		"a label that is not the node's name": {affinity: onNodes(in(host, "host-2")), reads: 2},
		"none of two nodes exists":            {affinity: onNodes(in(host, "n3", "n4")), want: "volume pv-x can be used only on nodes n3, n4, which do not exist", reads: 3},
		"one of two nodes exists":             {affinity: onNodes(in(host, "n3"), in(host, "n1")), reads: 3},
		"the label of a driver":               {affinity: onNodes(in("topology.topolvm.io/node", "n3")), want: "volume pv-x can be used only on node n3, which does not exist", reads: 2},
		"a zone without nodes":                {affinity: onNodes(in(corev1.LabelTopologyZone, "z9")), reads: 1},
		"a node or a zone":                    {affinity: onNodes(in(host, "n3"), in(corev1.LabelTopologyZone, "z9")), reads: 1},
		"any node but one":                    {affinity: onNodes(corev1.NodeSelectorRequirement{Key: host, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"n3"}}), reads: 1},
		"no affinity":                         {reads: 1},
		"the volume does not exist":           {absent: true, want: "volume pv-x does not exist", reads: 1},
		"volumes may not be read":             {affinity: onNodes(in(host, "n3")), forbid: "get persistentvolumes", reads: 1, gap: "volumes of pods"},
		"nodes may not be read":               {affinity: onNodes(in(host, "n3")), forbid: "list nodes", reads: 2, gap: "nodes of volumes"},
		"the pod has a node":                  {affinity: onNodes(in(host, "n3")), change: func(p *state.Pod) { p.Node = "n1" }},
		"the pod is new":                      {affinity: onNodes(in(host, "n3")), change: func(p *state.Pod) { p.Made = noon.Add(-4 * time.Second) }},
		"the pod is being deleted":            {affinity: onNodes(in(host, "n3")), change: func(p *state.Pod) { p.Terminating = true }},
		"the pod has ended":                   {affinity: onNodes(in(host, "n3")), change: func(p *state.Pod) { p.Ended = true }},
	} {
		nodes := []runtime.Object{
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{host: "n1"}}},
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2.example.com", Labels: map[string]string{host: "host-2"}}},
		}
		kube := fake.NewClientset(nodes...)
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
	kube := fake.NewClientset(v)
	kube.PrependReactor("list", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		list := &corev1.NodeList{}
		if by := a.(clienttesting.ListAction).GetListRestrictions().Fields.String(); by == "metadata.name=n1" {
			list.Items = make([]corev1.Node, 1)
		}
		return true, list, nil
	})
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

package kubernetes

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// showNodes writes the nodes of all pods. The model loses hosts pod by pod: a node is not Ready while a pod on it is
// not heard of.
func (b *Bridge) showNodes() {
	unheard := map[string]bool{}
	for _, k := range sim.Kinds() {
		for _, p := range b.model.ShownPods(k) {
			if p.Node != "" {
				unheard[p.Node] = unheard[p.Node] || p.Unheard
			}
		}
	}
	for _, obj := range b.api.List(nodes, "") {
		if node, ok := obj.(*corev1.Node); ok && !unheard[node.Name] {
			unheard[node.Name] = false
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unheard)) {
		b.showNode(name, !unheard[name])
	}
}

func (b *Bridge) showNode(name string, ready bool) {
	node, there := b.api.Get(nodes, "", name).(*corev1.Node)
	if !there {
		node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: union(map[string]string{corev1.LabelHostname: name}, b.zoneOf(name))}}
	}
	status := corev1.ConditionTrue
	if !ready {
		status = corev1.ConditionUnknown
	}
	if len(node.Status.Conditions) > 0 && node.Status.Conditions[0].Status == status {
		return
	}
	next := node.DeepCopy()
	next.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(b.model.Now()), Reason: "KubeletReady",
	}}
	b.api.Put(nodes, next)
}

// zoneOf returns the label with the zone of a node, none where the model has no zones.
func (b *Bridge) zoneOf(name string) map[string]string {
	for i := range sim.MostMembers {
		if sim.NodeOf(i) == name && len(b.model.Zones) > 0 {
			return map[string]string{corev1.LabelTopologyZone: b.model.ZoneOf(i)}
		}
	}
	return nil
}

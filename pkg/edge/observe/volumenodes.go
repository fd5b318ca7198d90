package observe

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"
)

// place is where a volume can be used. These are the nodes that have one of some values of a label. Where the label is "",
// these are the nodes with one of some names.
type place struct {
	label  string
	values []string
}

// nodesOf returns the nodes on which alone a volume can be used, and reports whether the volume names such nodes. A volume
// of a zone names none: a new node of that zone can use it.
func nodesOf(v *corev1.PersistentVolume) (all []place, named bool) {
	if a := v.Spec.NodeAffinity; a == nil || a.Required == nil || len(a.Required.NodeSelectorTerms) == 0 {
		return nil, false
	}
	for _, t := range v.Spec.NodeAffinity.Required.NodeSelectorTerms {
		p, ok := placeOf(t)
		if !ok {
			return nil, false
		}
		all = append(all, p)
	}
	return all, true
}

// placeOf returns the nodes that a term of a volume's affinity names. A term may ask for more, which makes the nodes fewer.
func placeOf(t corev1.NodeSelectorTerm) (place, bool) {
	for _, r := range t.MatchFields {
		if r.Key == metav1.ObjectNameField && r.Operator == corev1.NodeSelectorOpIn {
			return place{values: r.Values}, true
		}
	}
	for _, r := range t.MatchExpressions {
		if namesNode(r.Key) && r.Operator == corev1.NodeSelectorOpIn {
			return place{label: r.Key, values: r.Values}, true
		}
	}
	return place{}, false
}

// namesNode reports whether each node has its own value of a label. These are kubernetes.io/hostname and the labels of
// drivers of local volumes, such as topology.topolvm.io/node and openebs.io/nodename.
func namesNode(label string) bool {
	return slices.Contains([]string{"hostname", "node", "nodename"}, path.Base(label))
}

// presence is whether a node of a place exists.
type presence int

const (
	presenceUnknown presence = iota
	present
	absent
)

// presenceOf returns whether a node of a place exists. The label of a node need not be its name, so nodes are looked up by
// the label. A driver sets its label some time after the node is there, so nodes are looked up by their names as well.
func (o *Observer) presenceOf(ctx context.Context, p place) (presence, error) {
	for _, by := range p.selectors() {
		if found, err := o.anyNode(ctx, by); err != nil || found != nil {
			return present, err
		}
	}
	if p.label == "" {
		return absent, nil
	}
	return o.presenceUnlabelled(ctx, p.label)
}

// presenceUnlabelled returns whether a node that nothing has found may exist without the label. A node whose label is not
// set yet, or was taken off, may be the one of the volume. No such node exists where all nodes have the label. Neither does
// one where the values are names of nodes, because nodes were looked up by their names as well.
func (o *Observer) presenceUnlabelled(ctx context.Context, label string) (presence, error) {
	with, err := o.anyNode(ctx, metav1.ListOptions{LabelSelector: label, Limit: 1})
	if err != nil || with == nil {
		return presenceUnknown, err
	}
	if with.Labels[label] == with.Name {
		return absent, nil
	}
	without, err := o.anyNode(ctx, metav1.ListOptions{LabelSelector: "!" + label, Limit: 1})
	if err != nil || without != nil {
		return presenceUnknown, err
	}
	return absent, nil
}

// anyNode returns one of the nodes that are selected, nil if there is none.
func (o *Observer) anyNode(ctx context.Context, by metav1.ListOptions) (*corev1.Node, error) {
	list, err := o.kube.CoreV1().Nodes().List(ctx, by)
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

// selectors select the nodes of a place by the label, by the host name and by the name.
func (p place) selectors() (all []metav1.ListOptions) {
	var byLabels []string
	if p.label != "" {
		byLabels = slices.Compact([]string{p.label, corev1.LabelHostname})
	}
	possible := slices.DeleteFunc(slices.Clone(p.values), func(v string) bool { return len(validation.IsValidLabelValue(v)) > 0 })
	for _, label := range byLabels {
		if in, err := labels.NewRequirement(label, selection.In, possible); err == nil { // fails without a value that a label can have
			all = append(all, metav1.ListOptions{LabelSelector: labels.NewSelector().Add(*in).String(), Limit: 1})
		}
	}
	for _, v := range p.values {
		all = append(all, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, v).String(), Limit: 1})
	}
	return all
}

// unknownPresence says why it is not known whether a node of a place exists.
func (p place) unknownPresence() string {
	return fmt.Sprintf("not every node has the label %s, so it is not known whether a node exists whose value is %s", p.label, strings.Join(p.values, " or "))
}

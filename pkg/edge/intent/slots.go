package intent

import (
	"encoding/json"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// aboutSlots is the annotation with the slots of a component.
func aboutSlots(k topology.Kind) string { return "metadata.annotations." + topology.SlotsAnnotation(k) }

// slotsBefore returns the slots of a TidbCluster for the components to which another one gives other slots.
func slotsBefore(tc, want *v1alpha1.TidbCluster) map[topology.Kind][]int {
	var before map[topology.Kind][]int
	for _, k := range topology.Kinds() {
		was := topology.SlotsAsked(tc, k)
		if slices.Equal(was, topology.SlotsAsked(want, k)) {
			continue
		}
		if before == nil {
			before = map[topology.Kind][]int{}
		}
		before[k] = append([]int{}, was...) // none is written as an empty list
	}
	return before
}

// takeBackSlots gives a TidbCluster the slots from before its last change. It returns the annotations of a patch, and
// which fields it is about.
func takeBackSlots(want *v1alpha1.TidbCluster, before map[topology.Kind][]int) (set map[string]any, about []string) {
	set = map[string]any{}
	for k, was := range before {
		topology.AskSlots(want, k, was)
		set[topology.SlotsAnnotation(k)] = nil
		if text, has := want.Annotations[topology.SlotsAnnotation(k)]; has {
			set[topology.SlotsAnnotation(k)] = text
		}
		about = append(about, aboutSlots(k))
	}
	slices.Sort(about)
	return set, about
}

// nothingBack is the patch of a change that leaves the spec as it is.
var nothingBack = json.RawMessage("{}")

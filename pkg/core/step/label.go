package step

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TendVolume corrects the labels and the policy of a PersistentVolume. It is conditional on the
// version that was read. With the policy Delete, a volume that belongs to another claim now
// would be deleted with that claim.
type TendVolume struct {
	Component          topology.Kind
	Member             string
	Name, UID, Version string
	Policy             string // the new policy, "" to leave it
	Set                state.Identity
}

func (TendVolume) Action() string { return "TendVolume" }

func (s TendVolume) Target() (topology.Kind, string) { return s.Component, s.Member }

func (TendVolume) Disruptive() bool { return false }

func (TendVolume) Quiet() bool { return true }

func (s TendVolume) String() string {
	if s.Policy == "" {
		return fmt.Sprintf("label volume %s: %s", s.Name, identity(s.Set))
	}
	return fmt.Sprintf("set the reclaim policy of volume %s to %s", s.Name, s.Policy)
}

// Label sets labels and annotations of a pod or a claim, one key at a time. So the keys of other
// programs stay as they are.
type Label struct {
	Component topology.Kind
	Member    string
	Object    string // PodObject or ClaimObject
	Name, UID string
	Set       state.Identity // only what is to change
}

func (Label) Action() string { return "Label" }

func (s Label) Target() (topology.Kind, string) { return s.Component, s.Member }

func (Label) Disruptive() bool { return false }

func (Label) Quiet() bool { return true }

func (s Label) String() string {
	return fmt.Sprintf("label %s %s: %s", s.Object, s.Name, identity(s.Set))
}

// Kinds of objects that Label changes.
const (
	PodObject   = "pod"
	ClaimObject = "persistentvolumeclaim"
)

func identity(i state.Identity) string {
	text := pairs(i.Labels)
	if len(i.Annotations) > 0 {
		text = strings.TrimPrefix(text+", annotations "+pairs(i.Annotations), ", ")
	}
	return text
}

func pairs(m map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, key+"="+m[key])
	}
	return strings.Join(out, ", ")
}

// LabelStore sets labels of a store in PD and leaves other labels as they are.
type LabelStore struct {
	Component topology.Kind
	Member    string
	StoreID   uint64
	Labels    map[string]string // only what is to change
}

func (LabelStore) Action() string { return "LabelStore" }

func (s LabelStore) Target() (topology.Kind, string) { return s.Component, s.Member }

func (LabelStore) Disruptive() bool { return false }

func (LabelStore) Quiet() bool { return true }

func (s LabelStore) String() string {
	return fmt.Sprintf("label store %d of %s: %s", s.StoreID, s.Member, pairs(s.Labels))
}

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// The steps of upkeep. None of them removes anything that is in use.

// Kinds of objects that Label changes.
const (
	PodObject   = "pod"
	ClaimObject = "persistentvolumeclaim"
)

// Label sets labels and annotations of a pod or a claim, one key at a time, so
// that those of others stay as they are.
type Label struct {
	Component topology.Kind
	Member    string
	Object    string // PodObject or ClaimObject
	Name, UID string
	Set       state.Identity // only what is to change
}

// TendVolume corrects the labels and the policy of a PersistentVolume. It is conditional
// on the version that was read: with the policy Delete, a volume that belongs to another
// claim by now would be deleted with that claim.
type TendVolume struct {
	Component          topology.Kind
	Member             string
	Name, UID, Version string
	Policy             string // the new policy, "" to leave it
	Set                state.Identity
}

// RemakePod deletes a pod that cannot be scheduled, because a claim of it does not exist.
// The StatefulSet controller then creates both.
type RemakePod struct {
	Component topology.Kind
	Member    string
	PodUID    string
	Claims    []string // the missing ones
}

// LabelStore sets labels of a store in PD and leaves its others as they are.
type LabelStore struct {
	Component topology.Kind
	Member    string
	StoreID   uint64
	Labels    map[string]string // only what is to change
}

// Quiet reports whether a step that succeeds is not reported.
func Quiet(s Step) bool {
	switch s := s.(type) {
	case Label, TendVolume, LabelStore:
		return true
	case DrainCapture:
		return s.Again
	case LimitLeaderMoves:
		return s.Again
	}
	return false
}

func (Label) step()      {}
func (TendVolume) step() {}
func (RemakePod) step()  {}
func (LabelStore) step() {}

func (s Label) Target() (topology.Kind, string)      { return s.Component, s.Member }
func (s TendVolume) Target() (topology.Kind, string) { return s.Component, s.Member }
func (s RemakePod) Target() (topology.Kind, string)  { return s.Component, s.Member }
func (s LabelStore) Target() (topology.Kind, string) { return s.Component, s.Member }

func (s Label) String() string {
	return fmt.Sprintf("label %s %s: %s", s.Object, s.Name, identity(s.Set))
}

func (s TendVolume) String() string {
	if s.Policy == "" {
		return fmt.Sprintf("label volume %s: %s", s.Name, identity(s.Set))
	}
	return fmt.Sprintf("set the reclaim policy of volume %s to %s", s.Name, s.Policy)
}

func (s RemakePod) String() string {
	return fmt.Sprintf("recreate %s, claim %s is missing", s.Member, strings.Join(s.Claims, ", "))
}

func (s LabelStore) String() string {
	return fmt.Sprintf("label store %d of %s: %s", s.StoreID, s.Member, pairs(s.Labels))
}

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

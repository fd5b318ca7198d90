package topology

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationLastChange is on a TidbCluster whose spec a command has changed. The annotation says what
// the last change was, and how to take the change back.
const AnnotationLastChange = "kubectl-tidb/last-change"

// LastChange is the last change of a spec by a command.
type LastChange struct {
	// Action is what the user has asked for, e.g. "upgrade to v8.1.1".
	Action string    `json:"action"`
	At     time.Time `json:"at"`
	// Back is the merge patch from the spec after the change to the one before it.
	Back json.RawMessage `json:"back"`
	// Spec is the digest of the spec after the change. To take the change back on top of what another
	// user or tool has written since could make a spec that nobody has asked for.
	Spec string `json:"spec"`
	// Canary is the canary that was asked for before the change, "" for none. It is nil where the
	// change has left the canary as it was. Of another canary a rollback would promote what is still
	// being watched.
	Canary *string `json:"canary,omitempty"`
	// Slots are the slots before the change, for the components with changed slots.
	Slots map[Kind][]int `json:"slots,omitempty"`
}

// String names the change, and its time.
func (l LastChange) String() string { return fmt.Sprintf("%q of %s", l.Action, moment(l.At)) }

// longestBack is the size of the longest patch that is recorded. Kubernetes takes 256 KiB for all
// annotations of an object.
const longestBack = 64 << 10

// Record returns the record of a change as the annotation has it. It is "" for a change that is too
// long to be recorded.
func (l LastChange) Record(after *v1alpha1.TidbCluster) string {
	l.At, l.Spec = l.At.UTC().Truncate(time.Second), specDigest(after)
	text, err := json.Marshal(l)
	if err != nil || len(l.Back) > longestBack {
		return ""
	}
	return string(text)
}

// LastChangeOf returns the last change of a TidbCluster by a command, as far as it is recorded.
func LastChangeOf(tc *v1alpha1.TidbCluster) (LastChange, bool) {
	var l LastChange
	err := json.Unmarshal([]byte(tc.Annotations[AnnotationLastChange]), &l)
	return l, err == nil && l.Action != "" && len(l.Back) > 0
}

// IsLast reports whether the spec of a TidbCluster is still the one after the change.
func (l LastChange) IsLast(tc *v1alpha1.TidbCluster) bool { return l.Spec == specDigest(tc) }

// Replicas returns how many members components had before the change, for the components with a
// changed number. It also returns whether nothing else was changed.
func (l LastChange) Replicas() (before map[Kind]int, only bool) {
	var back map[string]json.RawMessage
	if json.Unmarshal(l.Back, &back) != nil {
		return nil, false
	}
	before, only = map[Kind]int{}, true
	for name, text := range back {
		kind, component := ParseKind(name)
		var part map[string]json.RawMessage
		if !component || json.Unmarshal(text, &part) != nil {
			only = false
			continue
		}
		var n *int
		if json.Unmarshal(part["replicas"], &n) == nil && n != nil {
			before[kind] = *n
		}
		only = only && n != nil && len(part) == 1
	}
	return before, only && len(before)+len(l.Slots) > 0
}

// ReplicasBefore returns how many members components had before the last change of a TidbCluster. It
// has only components with a changed number. It has none if that change is not recorded, or is no
// longer the last change.
func ReplicasBefore(tc *v1alpha1.TidbCluster) map[Kind]int {
	last, recorded := LastChangeOf(tc)
	if !recorded || !last.IsLast(tc) {
		return nil
	}
	before, _ := last.Replicas()
	for k := range last.Slots {
		if n := Replicas(tc, k); before != nil && n != nil {
			if _, changed := before[k]; !changed {
				before[k] = int(*n) // other members of the same number
			}
		}
	}
	return before
}

// specDigest returns a digest of a spec, and of the slots, which count as a part of the spec. A pause is left out,
// because a pause changes nothing that can be taken back.
func specDigest(tc *v1alpha1.TidbCluster) string {
	spec := tc.Spec
	spec.Paused = false
	text, err := json.Marshal(spec)
	if err != nil {
		return "" // cannot happen, since it was decoded from JSON
	}
	for _, k := range Kinds() {
		if slots := SlotsAsked(tc, k); len(slots) > 0 {
			text = append(text, string(k)+SlotsText(slots)...)
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// SpecWriters returns who has written the spec of a TidbCluster since a time, the last one first. The
// API server records that. It leaves out some managers.
func SpecWriters(tc *v1alpha1.TidbCluster, since time.Time, but ...string) []metav1.ManagedFieldsEntry {
	var all []metav1.ManagedFieldsEntry
	for _, f := range tc.ManagedFields {
		var fields struct {
			Spec json.RawMessage `json:"f:spec"`
		}
		if f.FieldsV1 == nil || f.Time == nil || f.Time.Time.Before(since) || slices.Contains(but, f.Manager) {
			continue
		}
		if json.Unmarshal(f.FieldsV1.GetRawBytes(), &fields) == nil && len(fields.Spec) > 0 {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b metav1.ManagedFieldsEntry) int { return b.Time.Compare(a.Time.Time) })
	return all
}

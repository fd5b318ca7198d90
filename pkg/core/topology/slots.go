package topology

import (
	"encoding/json"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// AdvancedGroup is the API group of AdvancedStatefulSets, whose kind has the name StatefulSet too. Their ordinals can have
// gaps, which are called slots.
const AdvancedGroup = "apps.pingcap.com"

// AnnotationSlots is on an AdvancedStatefulSet, and has its slots as a list in JSON.
const AnnotationSlots = "delete-slots"

// SlotsAnnotation returns the name of the annotation of a TidbCluster that has the slots of a component.
func SlotsAnnotation(k Kind) string { return string(k) + ".tidb.pingcap.com/" + AnnotationSlots }

// SetResource returns the resource of the cluster's StatefulSets for kubectl.
func (c Cluster) SetResource() string {
	if c.Advanced {
		return "statefulsets." + AdvancedGroup
	}
	return "statefulset"
}

// TakesSlots reports whether an annotation can leave out ordinals of a component.
func TakesSlots(k Kind) bool { return !k.traits().slotless }

// SlotsAsked returns the slots that a TidbCluster asks for, the lowest first. It returns none for an annotation that
// cannot be read, which is refused.
func SlotsAsked(tc *v1alpha1.TidbCluster, k Kind) []int {
	if !TakesSlots(k) {
		return nil
	}
	slots, _ := ParseSlots(tc.Annotations[SlotsAnnotation(k)])
	return slots
}

// AskSlots writes the slots of a component into a TidbCluster.
func AskSlots(tc *v1alpha1.TidbCluster, k Kind, slots []int) {
	if text := SlotsText(slots); text != "" {
		metav1.SetMetaDataAnnotation(&tc.ObjectMeta, SlotsAnnotation(k), text)
		return
	}
	delete(tc.Annotations, SlotsAnnotation(k))
}

// ParseSlots reads the slots in an annotation, the lowest first. It returns none for a text that cannot be read.
func ParseSlots(text string) (slots []int, ok bool) {
	if text == "" {
		return nil, true
	}
	var all []int32
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, false
	}
	for _, n := range all {
		slots = append(slots, int(n))
	}
	slices.Sort(slots)
	return slices.Compact(slots), true
}

// SlotsText returns slots as an annotation has them, "" for none.
func SlotsText(slots []int) string {
	if len(slots) == 0 {
		return ""
	}
	text, _ := json.Marshal(slots) // numbers can always be encoded
	return string(text)
}

// validateSlots refuses slots that cannot be read. Whether a cluster can have slots depends on its StatefulSets, which
// are not known here.
func validateSlots(annotations map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	refuse := func(key, what string) {
		errs = append(errs, field.Invalid(at.Key(key), annotations[key], what))
	}
	for _, k := range Kinds() { // the API module reports most lists that cannot be read
		switch slots, ok := ParseSlots(annotations[SlotsAnnotation(k)]); {
		case !TakesSlots(k):
		case !ok && k.traits().slotsUnread:
			refuse(SlotsAnnotation(k), "must be a list of ordinals in JSON, such as [1]")
		case len(slots) > 0 && slots[0] < 0:
			refuse(SlotsAnnotation(k), "must have no negative ordinals")
		}
	}
	return errs
}

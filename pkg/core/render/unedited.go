package render

import (
	"crypto/sha256"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/lru"
)

// unedited are the comparisons of a record with a live pod template that found no edit, by what was compared. Each
// decision compares all StatefulSets, of which hardly any has changed since the decision before. A comparison takes
// longer than all else that is rendered. The same texts always compare alike, so that no entry can be outdated.
var unedited = lru.New(mostRecords)

// comparedTexts is a digest of a record and of a live pod template.
type comparedTexts [sha256.Size]byte

// comparedIn returns the digest of what edited compares, and false where a template cannot be encoded.
func comparedIn(live *appsv1.StatefulSet) (comparedTexts, bool) {
	template, err := live.Spec.Template.Marshal()
	if err != nil {
		return comparedTexts{}, false
	}
	record := sha256.Sum256([]byte(live.Annotations[annLastApplied]))
	return sha256.Sum256(append(record[:], template...)), true
}

package render

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/lru"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Template returns the fingerprint of the pod template that was applied last, "" when the
// StatefulSet has no record. An API server's defaults and a person's edits of the live template do
// not change it.
func Template(set *appsv1.StatefulSet) string {
	if set == nil {
		return ""
	}
	return digestsOf(set).template
}

// appliedPods returns a digest of the pod template that was applied last. It is made from the text,
// since a newer version may have fields that this version does not know.
func appliedPods(set *appsv1.StatefulSet) string { return digestsOf(set).pods }

// digests are two digests of a record. They are "" where the record cannot be read.
type digests struct{ template, pods string }

// readDigests are the digests of records, by the texts of the records. Each decision asks several times for the digests
// of each StatefulSet. To read a record takes longer than most of the rest of a decision. The same text always has the
// same digests, so that no result depends on what is kept here.
var readDigests = lru.New(mostRecords)

// mostRecords is how many records are kept: those of a few clusters.
const mostRecords = 64

func digestsOf(set *appsv1.StatefulSet) digests {
	text := set.Annotations[annLastApplied]
	if text == "" {
		return digests{}
	}
	if known, ok := readDigests.Get(text); ok {
		return known.(digests)
	}
	var d digests
	if spec, ok := lastApplied[appsv1.StatefulSetSpec](set.ObjectMeta); ok {
		d.template = fingerprint(spec.Template)
	}
	var raw struct {
		Template json.RawMessage `json:"template"`
	}
	if json.Unmarshal([]byte(text), &raw) == nil {
		d.pods = topology.Digest(raw.Template)
	}
	readDigests.Add(text, d)
	return d
}

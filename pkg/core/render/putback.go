package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// annPutBack on a StatefulSet says which fields of its pod template were put back, when, and from which
// value. A webhook or a tool may change a field again right after that. Then the field is not put back
// again, because each of the two would undo the other's change, without an end.
const annPutBack = "kubectl-tidb/put-back"

// FieldManager is the name under which the API server records the fields that this plugin writes.
const FieldManager = "kubectl-tidb"

// insisting is how soon after a field was put back a tool that does not leave the field changes it again.
// A person who changes the field again comes later, or is asked to stop by the notice.
const insisting = 10 * time.Minute

// putBack is the record of one field.
type putBack struct {
	At  time.Time `json:"at"`
	Was string    `json:"was"` // a digest of the value that was replaced
}

// returned reads the record; one that cannot be read is none.
func returned(set *appsv1.StatefulSet) map[string]putBack {
	all := map[string]putBack{}
	if json.Unmarshal([]byte(set.Annotations[annPutBack]), &all) != nil {
		return map[string]putBack{}
	}
	return all
}

// stays reports whether a field stays as it is live, since it would be changed again. That is known in
// two ways. The API server says that this plugin has written the field: then a webhook has changed it in
// that very write. Or it was put back before, and has got the same value or was written again right
// after that.
func stays(e desired.Edit, before map[string]putBack) bool {
	if e.Manager == FieldManager {
		return true
	}
	last, ok := before[e.Field]
	if !ok {
		return false
	}
	if e.At.IsZero() {
		return last.Was == valueDigest(e)
	}
	return e.At.Before(last.At.Add(insisting))
}

func valueDigest(e desired.Edit) string {
	text, err := json.Marshal(e.Live)
	if err != nil {
		panic("render: encode a text: " + err.Error())
	}
	return topology.Digest(text)
}

// undone compares the live pod template of a component with the one that was applied last. It returns the
// StatefulSet to write where fields have to be put back, and the fields that stay.
func undone(live *appsv1.StatefulSet, at time.Time) (back desired.Object, stay []desired.Edit) {
	if live == nil || live.DeletionTimestamp != nil {
		return desired.Object{}, nil
	}
	before := returned(live)
	var edits []desired.Edit
	for _, e := range edited(live) {
		if stays(e, before) {
			stay = append(stay, e)
		} else {
			edits = append(edits, e)
		}
	}
	if len(edits) == 0 {
		return desired.Object{}, stay
	}
	record := maps.Clone(before)
	for _, e := range edits {
		record[e.Field] = putBack{At: at.UTC().Truncate(time.Second), Was: valueDigest(e)}
	}
	return desired.Object{
		Kind: "StatefulSet", Name: live.Name, Drift: desired.Differs, Generation: live.Generation,
		Manifest: asApplied(live, record), Edits: edits,
	}, stay
}

// asApplied returns a live StatefulSet with the pod template and the update strategy that were applied
// last.
func asApplied(live *appsv1.StatefulSet, record map[string]putBack) *appsv1.StatefulSet {
	applied := appliedSpec(live)
	set := live.DeepCopy()
	if set.Kind = "StatefulSet"; set.APIVersion == "" { // a list leaves both out
		set.APIVersion = appsv1.SchemeGroupVersion.String()
	}
	set.Spec.Template = applied.Template
	set.Spec.UpdateStrategy = updateStrategy(strategyType(applied) == appsv1.OnDeleteStatefulSetStrategyType, closedPartition(live))
	text, err := json.Marshal(record)
	if err != nil {
		panic("render: encode a record: " + err.Error())
	}
	set.Annotations[annPutBack] = string(text) // the record of what was applied is an annotation, so there are some
	return set
}

// changedByOthers says which fields of the live pod template stay as others have written them. A release
// that was not asked for is no such field. No pod may be restarted onto it, because that would be an
// upgrade or a downgrade past all checks.
func changedByOthers(c topology.Cluster, g topology.Group, live *appsv1.StatefulSet, stay []desired.Edit) ([]desired.Notice, []desired.Lack) {
	if len(stay) == 0 {
		return nil, nil
	}
	see := remedy.Run("see who writes the fields", c.Kubectl("get", c.SetResource(), live.Name, "-o", "yaml", "--show-managed-fields"))
	for _, e := range stay {
		if e.Field == imageOf(string(g.Kind)) && otherRelease(topology.Tag(e.Live), topology.Tag(e.Applied)) {
			return nil, []desired.Lack{{
				Need: desired.AskedVersion, Object: live.Name, Want: fmt.Sprintf("StatefulSet %s has %s", live.Name, e.Applied),
				Observed: fmt.Sprintf("%s of StatefulSet %s is %s, %s was written, and a webhook or another tool has changed it again",
					e.Field, live.Name, e.Live, e.Applied),
				Remedy: remedy.Remedy{see, remedy.Say("stop the webhook or the tool that changes it, or ask for that version")},
			}}
		}
	}
	return []desired.Notice{{
		Reason: event.TemplateOfOthers, Component: g.Kind,
		Text: fmt.Sprintf("pod template of %s was changed again by a webhook or another tool after it was written, and stays as it is: %s",
			g.Kind.Title(), short(stay)),
		Remedy: remedy.Remedy{see},
	}}, nil
}

// otherRelease reports whether two versions are releases, and not the same one.
func otherRelease(have, want string) bool {
	a, err := topology.ParseVersion(have)
	if err != nil {
		return false
	}
	b, err := topology.ParseVersion(want)
	return err == nil && (a.Less(b) || b.Less(a))
}

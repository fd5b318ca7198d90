package intent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// aboutRollback are the fields that a rollback is about. These are all of the spec, and the record of the change
// that is taken back.
var aboutRollback = []string{wholeSpec, "metadata.annotations." + topology.AnnotationLastChange}

// NoWayBackError says that the last change of a TidbCluster cannot be taken back. Nothing was
// changed.
type NoWayBackError struct {
	Namespace, Name string
	Why             string
}

func (e *NoWayBackError) Error() string {
	return fmt.Sprintf("cluster %s/%s has no change to take back: %s; nothing was changed", e.Namespace, e.Name, e.Why)
}

// Rollback takes back the last change that a command has made in the spec, which it returns. It
// fails with a *NoWayBackError if none is recorded, or if the spec was changed again since.
func (c *Client) Rollback(tc *v1alpha1.TidbCluster) (Change, topology.LastChange, error) {
	no := func(format string, args ...any) (Change, topology.LastChange, error) {
		return Change{}, topology.LastChange{}, &NoWayBackError{Namespace: tc.Namespace, Name: tc.Name, Why: fmt.Sprintf(format, args...)}
	}
	last, recorded := topology.LastChangeOf(tc)
	switch {
	case !recorded:
		return no("no command has recorded one in its TidbCluster")
	case !last.IsLast(tc):
		return no("its spec was changed after %s%s", last, writers(tc, last))
	}
	want, err := merged(tc, last.Back)
	if err != nil {
		return no("what is recorded about %s cannot be read: %v", last, err)
	}
	if replacesVolumes(tc, want) {
		return no("members get other volumes for %s, and a rollback would give them new volumes once more; replace --cancel calls off those that wait", last)
	}
	delete(want.Annotations, topology.AnnotationLastChange)
	set, about := settings{spec: last.Back, annotations: map[string]any{topology.AnnotationLastChange: nil}}, aboutRollback
	slots, slotFields := takeBackSlots(want, last.Slots)
	maps.Copy(set.annotations, slots)
	about = slices.Concat(about, slotFields)
	if last.Canary != nil {
		topology.SetCanary(want, *last.Canary)
		maps.Copy(set.annotations, canaryPatch(tc, want))
		about = append(slices.Clone(about), aboutCanary)
	}
	return Change{Now: tc, Want: want, Write: func(ctx context.Context, w Write) error {
		return c.patch(ctx, "roll back", tc, set, about, w)
	}}, last, nil
}

// replacesVolumes reports whether a rollback is about volumes for which members are replaced. The requests would go on
// with the volumes from before, and would delete the new ones.
func replacesVolumes(tc, want *v1alpha1.TidbCluster) bool {
	requests, err := topology.MemberReplacements(tc)
	if err == nil && len(requests) == 0 {
		return false
	}
	back := topology.New(want)
	return slices.ContainsFunc(topology.New(tc).Groups, func(g topology.Group) bool {
		to, _ := back.Group(g.Kind)
		return len(g.Replacements) > 0 && !slices.Equal(g.Volumes, to.Volumes)
	})
}

// writers names the tools that have written the spec since a change, "" where that is not known.
func writers(tc *v1alpha1.TidbCluster, last topology.LastChange) string {
	all := topology.SpecWriters(tc, last.At, FieldManager)
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf(", by %s at %s", all[0].Manager, all[0].Time.UTC().Format("2006-01-02T15:04:05Z"))
}

// merged returns a TidbCluster with a merge patch in its spec.
func merged(tc *v1alpha1.TidbCluster, patch json.RawMessage) (*v1alpha1.TidbCluster, error) {
	before, err := json.Marshal(tc.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode the spec: %w", err)
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, fmt.Errorf("patch the spec: %w", err)
	}
	want := tc.DeepCopy()
	want.Spec = v1alpha1.TidbClusterSpec{}
	if err := json.Unmarshal(after, &want.Spec); err != nil {
		return nil, fmt.Errorf("decode the spec: %w", err)
	}
	return want, nil
}

// recorded returns the annotation that records a change, nil for a write that is not recorded. A
// change that is too long to be recorded removes the record of the one before, which would be
// taken for it.
func recorded(tc, want *v1alpha1.TidbCluster, w Write) (map[string]any, error) {
	if w.Action == "" {
		return nil, nil
	}
	before, after := tc.DeepCopy(), want.DeepCopy()
	before.Spec.Paused, after.Spec.Paused = false, false // verbs of their own begin and end a pause
	back, err := specPatch(after, before)
	if err != nil {
		return nil, err
	}
	slots := slotsBefore(tc, want)
	if back == nil && slots != nil {
		back = nothingBack
	}
	last := topology.LastChange{Action: w.Action, At: w.At, Back: back, Slots: slots}
	if back == nil {
		// A canary that is asked for later belongs to the change whose rollout it holds.
		var recorded bool
		if last, recorded = topology.LastChangeOf(tc); !recorded || !last.IsLast(tc) {
			return nil, nil
		}
	}
	if was, is := canaryOf(tc), canaryOf(want); was != is && last.Canary == nil {
		last.Canary = &was
	} else if back == nil {
		return nil, nil
	}
	record := last.Record(want)
	if record == "" {
		return map[string]any{topology.AnnotationLastChange: nil}, nil
	}
	return map[string]any{topology.AnnotationLastChange: record}, nil
}

// Record records a change that is about to be written by another way than a patch, such as an apply. If that fails
// then, the spec is not the one that is recorded, and the record has no effect.
func (c *Client) Record(ctx context.Context, tc, want *v1alpha1.TidbCluster, w Write) error {
	annotations, err := recorded(tc, want, w)
	if err != nil || annotations == nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": tc.UID, "annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encode the record of a change: %w", err)
	}
	_, err = c.resourceIn(tc.Namespace).Patch(ctx, tc.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: FieldManager, DryRun: w.dryRun()})
	if err != nil {
		return fmt.Errorf("record the change of tidbcluster %s/%s: %w", tc.Namespace, tc.Name, err)
	}
	return nil
}

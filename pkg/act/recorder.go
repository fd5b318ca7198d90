package act

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// StatusWriter merges a patch into a TidbCluster; *intent.Client is one.
type StatusWriter interface {
	PatchStatus(ctx context.Context, namespace, name string, patch []byte) error
}

// Recorder writes what was seen into the status of the TidbCluster. It
// implements reconcile.Recorder.
//
// TidbClusters have no status subresource, so a write of the status is one of
// the whole object, gives it a new version and generation and wakes everybody
// who watches it, ourselves included. Hence only differences are written.
//
// With each write goes status.observedGeneration, the generation that this very
// write makes. So whoever changes the spec afterwards makes the status one of an
// earlier generation, and that is what "kubectl wait" and intent.Load go by: a
// Ready from before a change is not believed. It takes the condition that the
// TidbCluster is still the one that was looked at.
type Recorder struct {
	intent Intent

	version string // of the TidbCluster for which
	written []byte // this was written last
}

// NewRecorder makes a Recorder.
func NewRecorder(intent Intent) *Recorder { return &Recorder{intent: intent} }

// recordings is how often a status is tried to be written when others write the
// same TidbCluster.
const recordings = 3

// Record implements reconcile.Recorder. When the spec has changed since it was
// looked at, nothing is written and that is no error: what was found speaks of
// another spec, and the status, whoever reads it, of an earlier generation.
func (r *Recorder) Record(ctx context.Context, o state.Observation, w plan.Wanted, p plan.Plan) error {
	tc := w.Cluster.Source
	for attempt := 1; ; attempt++ {
		patch, err := recordPatch(tc, render.Status(o, w, p, tc.Status))
		if err != nil || patch == nil {
			return err
		}
		// A cache may answer with the version from before our own last write.
		if r.version == tc.ResourceVersion && bytes.Equal(r.written, patch) {
			return nil
		}
		err = r.intent.PatchStatus(ctx, tc.Namespace, tc.Name, patch)
		if err == nil {
			r.version, r.written = tc.ResourceVersion, patch
			return nil
		}
		if !apierrors.IsConflict(err) || attempt == recordings {
			return err
		}
		live, err := r.intent.Load(ctx, tc.Namespace, tc.Name)
		if err != nil {
			return err
		}
		now := topology.New(live)
		if now.UID != w.Cluster.UID || !apiequality.Semantic.DeepEqual(now.Source.Spec, w.Cluster.Source.Spec) {
			return nil
		}
		tc = now.Source
	}
}

// recordPatch is the merge patch that records a status in the TidbCluster that
// was looked at and in no later one, nil when it is recorded already. That a
// definition of TidbCluster without observedGeneration drops it is no difference,
// and so no reason to write again.
func recordPatch(tc *v1alpha1.TidbCluster, status v1alpha1.TidbClusterStatus) ([]byte, error) {
	difference, err := statusPatch(tc.Status, status)
	if err != nil || difference == nil {
		return nil, err
	}
	var patch map[string]map[string]any
	if err := json.Unmarshal(difference, &patch); err != nil {
		return nil, fmt.Errorf("compare statuses: %w", err)
	}
	patch["metadata"] = map[string]any{"uid": tc.UID, "resourceVersion": tc.ResourceVersion}
	patch["status"]["observedGeneration"] = tc.Generation + 1
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the status: %w", err)
	}
	return body, nil
}

// statusPatch is the merge patch from one status to another, nil when they are
// equal. Fields that a newer operator has and our types do not are in neither,
// and so stay as they are.
func statusPatch(from, to any) ([]byte, error) {
	before, err := json.Marshal(map[string]any{"status": from})
	if err != nil {
		return nil, fmt.Errorf("encode the old status: %w", err)
	}
	after, err := json.Marshal(map[string]any{"status": to})
	if err != nil {
		return nil, fmt.Errorf("encode the new status: %w", err)
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(before, after, before)
	if err != nil {
		return nil, fmt.Errorf("compare statuses: %w", err)
	}
	if bytes.Equal(patch, []byte("{}")) {
		return nil, nil
	}
	return patch, nil
}

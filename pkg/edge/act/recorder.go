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

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// StatusWriter merges a patch into a TidbCluster; *intent.Client implements it.
type StatusWriter interface {
	PatchStatus(ctx context.Context, namespace, name string, patch []byte) error
}

// Recorder writes what was observed into the status of the TidbCluster. It
// implements reconcile.Recorder.
//
// TidbClusters have no status subresource, so a write of the status writes the whole object. The object gets a new
// version and generation, and all who watch it wake, this process too. So only differences are written.
//
// Each write contains status.observedGeneration, with the generation that this write itself makes. After a later
// change of the spec the status is of an earlier generation. "kubectl wait" and intent.Load see that, and do not
// trust a Ready from before the change. For this the write is conditional on the version of the TidbCluster that was
// observed.
type Recorder struct {
	intent Intent

	version string // the version of the TidbCluster for which
	written []byte // this was written last
}

// NewRecorder returns a Recorder.
func NewRecorder(intent Intent) *Recorder { return &Recorder{intent: intent} }

// recordings is how many attempts to write the status are made when others write
// the same TidbCluster.
const recordings = 3

// Record implements reconcile.Recorder. When the spec has changed since the observation, nothing is written and
// there is no error. What was observed is about the former spec, and readers see that the status is of an earlier
// generation.
func (r *Recorder) Record(ctx context.Context, o state.Observation, w desired.State, p plan.Plan) error {
	tc := w.Cluster.Source
	for attempt := 1; ; attempt++ {
		patch, err := recordPatch(tc, render.Status(o, w, p, tc.Status))
		if err != nil || patch == nil {
			return err
		}
		// A cache may still return the version from before our own last write.
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

// recordPatch returns the merge patch that writes a status into the version of the TidbCluster that was observed.
// Into a later version the patch writes nothing. It is nil when nothing differs. A CRD without observedGeneration
// drops that field; this is not a difference, and so no reason to write again.
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

// statusPatch returns the merge patch from one status to another, nil when they are
// equal. Fields that only a newer operator knows are in neither of them, and so are
// not changed.
func statusPatch(from, to any) ([]byte, error) {
	before, err := json.Marshal(map[string]any{"status": from})
	if err != nil {
		return nil, fmt.Errorf("encode the old status: %w", err)
	}
	after, err := json.Marshal(map[string]any{"status": to})
	if err != nil {
		return nil, fmt.Errorf("encode the new status: %w", err)
	}
	if bytes.Equal(before, after) { // as in nearly all turns of a daemon, which need no comparison by fields
		return nil, nil
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

package act

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/jsonmergepatch"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
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
// who watches it, ourselves included. Hence only differences are written, and
// only of the status. They are not conditional on the version that was read:
// they cannot touch what the user writes meanwhile, and the only other writer of
// the status would be another driver.
type Recorder struct {
	status StatusWriter
	have   func() render.Existing

	version string // of the TidbCluster for which
	written []byte // this was written last
}

// NewRecorder makes a Recorder. The have function gives the objects that the
// observation saw which is to be recorded.
func NewRecorder(status StatusWriter, have func() render.Existing) *Recorder {
	return &Recorder{status: status, have: have}
}

// Record implements reconcile.Recorder.
func (r *Recorder) Record(ctx context.Context, w plan.Wanted, s state.Snapshot, p plan.Plan) error {
	tc := w.Cluster.Source
	patch, err := statusPatch(tc.Status, render.Status(w, r.have(), s, p, tc.Status))
	if err != nil || patch == nil {
		return err
	}
	// A cache may answer with the version from before our own last write.
	if r.version == tc.ResourceVersion && bytes.Equal(r.written, patch) {
		return nil
	}
	if err := r.status.PatchStatus(ctx, tc.Namespace, tc.Name, patch); err != nil {
		return err
	}
	r.version, r.written = tc.ResourceVersion, patch
	return nil
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

package drive

import (
	"errors"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// TestNoWayBackNamed: the end of a run that a user has asked for, or that nothing was written by, names
// no way back, and asks nobody for one: a session that connects to nothing is enough.
func TestNoWayBackNamed(t *testing.T) {
	asked := basic(func(*v1alpha1.TidbCluster) {})
	for name, tt := range map[string]struct {
		asked *v1alpha1.TidbCluster
		err   error
	}{
		"nothing was written": {nil, exit.Refusef("blocked")},
		"interrupted":         {asked, exit.ErrInterrupted},
		"paused":              {asked, exit.With(exit.Paused, errors.New("paused"))},
		"another drives":      {asked, exit.With(exit.Held, errors.New("held"))},
	} {
		if got := new(Session).withWayBack(t.Context(), tt.asked, tt.err); !errors.Is(got, tt.err) || got.Error() != tt.err.Error() {
			t.Errorf("%s: %v", name, got)
		}
	}
	if err := new(Session).withWayBack(t.Context(), asked, nil); err != nil {
		t.Errorf("converged: %v", err)
	}
}

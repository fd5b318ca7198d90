package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// A tidb-operator goes in the middle of a drain: the time that it gave TiCDC is not given once more. The
// mark of one that ended long ago shortens no drain.
func TestDrainOfOperatorGoesOn(t *testing.T) {
	for name, tt := range map[string]struct {
		ago  int // seconds
		says string
		ends int64 // when the first capture is restarted, in seconds
	}{
		"it goes on":        {120, "take over tidb-operator's drain of basic-ticdc-1", 180},
		"it ended long ago": {3600, "take tidb-operator's mark of a drain off pod basic-ticdc-1", 300},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(Options{PD: 1, TiKV: 3, TiDB: 1, TiCDC: 2, Feeds: 4, DrainTimeout: 5 * time.Minute})
			w.pods[ticdc][1].drainBegun = w.Now()
			w.Pass(tt.ago)
			w.pd.idle = never
			began, restarted := w.t, int64(0)
			w.Upgrade("v2", topology.TiCDC)
			w.OnStep("restart basic-ticdc-1 without", func() { restarted = w.t - began; w.pd.idle = 0 })
			fine(t, w)
			if !inTranscript(w, tt.says) || restarted < tt.ends || restarted > tt.ends+30 || !w.pods[ticdc][1].drainBegun.IsZero() {
				t.Errorf("after %d s\n%s", restarted, w.Transcript())
			}
		})
	}
}

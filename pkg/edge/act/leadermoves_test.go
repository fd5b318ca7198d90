package act

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestLimitLeaderMoves: PD is asked for the limit and for its end in one call, and one that may not keep it is not
// asked.
func TestLimitLeaderMoves(t *testing.T) {
	for version, says := range map[string]string{
		"v8.5.0": "", "v6.1.0": "", "v5.4.3": "without --max-leader-moves", "nightly": "",
	} {
		w := newFixture(t)
		w.pd.Update(func(s *pd.FakeState) { s.Members[0].Version = version })
		err := w.Do(t.Context(), step.LimitLeaderMoves{Limit: 2})
		asked := strings.Contains(strings.Join(w.pd.Calls(), "\n"), "LimitLeaderMoves(2, 2m0s)")
		if asked != (says == "") || says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: asked: %t, %v", version, asked, err)
		}
	}
}

package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// TestExpectUID: a cluster that was deleted and made again is not changed.
func TestExpectUID(t *testing.T) {
	s := serve(t, discovery(map[string]any{tidbclusters + "/basic": tidbcluster("basic"), tidbclusters: clusterList(tidbcluster("basic"))}))
	for args, says := range map[string]string{
		"pause basic":          "has the UID 1, not 2",
		"scale basic tikv=4":   "has the UID 1, not 2",
		"upgrade basic v8.1.1": "has the UID 1, not 2",
		"delete basic --yes":   "has the UID 1, not 2",
		"status basic":         "has the UID 1, not 2",
	} {
		r := s.call(t, append(strings.Fields(args), "--expect-uid", "2")...)
		wantError(t, args, r, exit.Refused, says)
	}
	for _, request := range s.asked() {
		if verb, _, _ := strings.Cut(request, " "); !slices.Contains([]string{"GET"}, verb) && !strings.Contains(request, "selfsubject") {
			t.Errorf("it was sent: %s", request)
		}
	}
	if r := s.call(t, "pause", "basic", "--expect-uid", "1", "--dry-run"); r.code != 0 {
		t.Errorf("the cluster that is meant: %+v", r)
	}
}

// TestExpectContext: nothing is asked of the server of another context.
func TestExpectContext(t *testing.T) {
	s := serve(t, discovery(nil))
	r := s.call(t, "list", "--expect-context", "prod")
	wantError(t, "list", r, exit.Refused, "not \"prod\" as --expect-context says")
	if asked := s.asked(); len(asked) > 0 {
		t.Errorf("asked: %q", asked)
	}
}

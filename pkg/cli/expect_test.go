package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// TestExpectUID: no verb changes a cluster that was deleted and created again with the same name, nor what
// is left of one that is gone.
func TestExpectUID(t *testing.T) {
	there := map[string]any{tidbclusters + "/basic": tidbcluster("basic"), tidbclusters: clusterList(tidbcluster("basic"))}
	for _, c := range []struct {
		cluster string
		objects map[string]any
		says    string
	}{
		{"another one", there, "has the UID 1, not 2"},
		{"none", nil, "there is no TidbCluster default/basic with the UID 2"},
	} {
		s := serve(t, discovery(c.objects))
		for verb, args := range typical(t) {
			if args = append(strings.Fields(verb), args...); !slices.Contains(args, "basic") && verb != "apply" {
				continue // it is not about one cluster
			}
			r := s.call(t, append(args, "--expect-uid", "2")...)
			wantError(t, c.cluster+": "+strings.Join(args, " "), r, exit.Refused, c.says)
		}
		for _, request := range s.asked() {
			if verb, _, _ := strings.Cut(request, " "); verb != "GET" && !strings.Contains(request, "selfsubject") {
				t.Errorf("%s: it was sent: %s", c.cluster, request)
			}
		}
	}
	if r := serve(t, discovery(there)).call(t, "pause", "basic", "--expect-uid", "1", "--dry-run"); r.code != 0 {
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

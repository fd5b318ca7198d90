package observe

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// servers are TiDB servers that note who was asked.
type servers struct {
	mu    sync.Mutex
	asked []string
	down  string // the host of one that reports an error
	open  int    // requests under way
	most  int    // of those at the same time
}

func (s *servers) RoundTrip(r *http.Request) (*http.Response, error) {
	name, _, _ := strings.Cut(r.URL.Host, ".")
	s.mu.Lock()
	s.asked = append(s.asked, name)
	s.open++
	s.most = max(s.most, s.open)
	code := map[bool]int{true: 500, false: 200}[name == s.down]
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
	}()
	return &http.Response{Request: r, StatusCode: code, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// TestServersThatServeAreNotAskedAgain: in a cluster of a hundred servers an observation that is not live asks those
// that are not known to serve, and the others only after a while.
func TestServersThatServeAreNotAskedAgain(t *testing.T) {
	const size = 100
	s, now := &servers{}, noon
	o := through(port(s.RoundTrip))
	o.now = func() time.Time { return now }
	pods := make([]*state.Pod, size)
	for n := range pods {
		pods[n] = &state.Pod{UID: fmt.Sprint(n), Ready: true, Started: noon.Add(-time.Hour), Since: noon.Add(-time.Hour)}
	}
	look := func(live bool) (asked []string, healthy int) {
		t.Helper()
		s.asked, o.asksAll = nil, live
		members := make([]state.Member, size)
		for n := range members {
			members[n] = state.Member{Kind: topology.TiDB, Ordinal: n, Name: basic.PodName(topology.TiDB, n), Pod: pods[n]}
		}
		o.askServers(t.Context(), basic, members)
		for _, m := range members {
			if m.Database.Healthy {
				healthy++
			}
		}
		return s.asked, healthy
	}
	check := func(what string, live bool, wantAsked, wantHealthy int, names ...string) []string {
		t.Helper()
		asked, healthy := look(live)
		if len(asked) != wantAsked || healthy != wantHealthy {
			t.Errorf("%s: asked %d, of which %d serve, want %d and %d", what, len(asked), healthy, wantAsked, wantHealthy)
		}
		for _, n := range names {
			if !slices.Contains(asked, n) {
				t.Errorf("%s: %s was not asked", what, n)
			}
		}
		return asked
	}
	check("the first time", false, size, size)
	now = now.Add(servesFor - time.Second)
	check("again", false, 0, size)
	check("live", true, size, size)
	now = now.Add(servesFor)
	check("after a while", false, size, size)

	pods[3] = &state.Pod{UID: "another", Ready: true, Started: pods[3].Started, Since: pods[3].Since}
	restarted := *pods[40]
	restarted.Started = now
	pods[40] = &restarted
	pods[50] = &state.Pod{UID: "50", Started: pods[50].Started, Since: now}
	leaves := *pods[60]
	leaves.Terminating = true
	pods[60] = &leaves
	check("pods that have changed", false, 4, size, "basic-tidb-3", "basic-tidb-40", "basic-tidb-50", "basic-tidb-60")

	s.down = "basic-tidb-99"
	check("one that fails, live", true, size, size-1)
	check("one that failed", false, 3, size-1, s.down, "basic-tidb-50", "basic-tidb-60")
	s.down = ""
	check("it serves again", false, 3, size, "basic-tidb-99")
	if s.most > atOnce {
		t.Errorf("%d were asked at the same time", s.most)
	}
}

// TestAFewServersAreAllAsked: an ordinary cluster is asked completely in each observation.
func TestAFewServersAreAllAsked(t *testing.T) {
	s := &servers{}
	o := through(port(s.RoundTrip))
	for range 3 {
		s.asked = nil
		members := make([]state.Member, few)
		for n := range members {
			members[n] = state.Member{Kind: topology.TiDB, Ordinal: n, Name: basic.PodName(topology.TiDB, n), Pod: &state.Pod{Ready: true, Started: noon}}
		}
		o.askServers(t.Context(), basic, members)
		if len(s.asked) != few {
			t.Errorf("asked %d of %d", len(s.asked), few)
		}
	}
}

// TestAnswersGetOld: an answer that a server is given from memory does not get newer by that.
func TestAnswersGetOld(t *testing.T) {
	well := state.Member{Name: "basic-tidb-0", Pod: &state.Pod{UID: "1", Ready: true, Addressed: true, Started: noon}}
	well.Database.Healthy = true
	members := []state.Member{well}
	s := serving{}.note(members, nil, noon)
	half := noon.Add(servesFor / 2)
	given := s.remembered(members, half)
	if !given[well.Name] {
		t.Fatal("the answer does not count")
	}
	if s = s.note(members, given, half); s.counts(&members[0], noon.Add(servesFor)) {
		t.Error("the answer counts for longer than servesFor")
	}
}

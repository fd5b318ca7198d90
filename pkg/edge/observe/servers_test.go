package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tikv"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// TestServersAreAskedTogether: a server that does not answer delays no other one.
func TestServersAreAskedTogether(t *testing.T) {
	t.Run("tidb-B33", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			members := make([]state.Member, atOnce)
			var asked sync.WaitGroup
			asked.Add(len(members))
			all := make(chan struct{})
			go func() {
				asked.Wait()
				close(all)
			}()
			new(Observer).each(t.Context(), members, func(ctx context.Context, m *state.Member) {
				asked.Done()
				select {
				case <-all:
					m.Database.Healthy = true
				case <-ctx.Done():
				}
			})
			for i, m := range members {
				if !m.Database.Healthy {
					t.Errorf("server %d was not asked at the same time as the others", i)
				}
			}
		})
	})
}

// port answers each request to the own port of a member.
type port func(*http.Request) (*http.Response, error)

func (p port) RoundTrip(r *http.Request) (*http.Response, error) { return p(r) }

func says(code int, body string) port {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{Request: r, StatusCode: code, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func fails(err error) port { return func(*http.Request) (*http.Response, error) { return nil, err } }

func unasked(t *testing.T) port {
	return func(r *http.Request) (*http.Response, error) {
		t.Errorf("asked %s", r.URL)
		return nil, errors.New("not to be asked")
	}
}

func through(p port) *Observer {
	client := &http.Client{Transport: p}
	return &Observer{now: func() time.Time { return noon }, http: client, tikv: tikv.Client{HTTP: client}, tidb: tidb.Client{HTTP: client}, unverified: client}
}

var (
	refused = &dial.ForwardError{Reason: dial.Refused}
	tunnel  = &dial.ForwardError{Reason: dial.Unreachable}
)

func holding(leaders, regions int) port {
	return says(200, fmt.Sprintf("tikv_raftstore_region_count{type=\"leader\"} %d\ntikv_raftstore_region_count{type=\"region\"} %d\n", leaders, regions))
}

// TestStoresAnswerThemselves: the answer of a store's own port, and what PD reports.
func TestStoresAnswerThemselves(t *testing.T) {
	running := &state.Pod{Ready: true, Started: noon}
	up := state.Database{Presence: state.Present, State: state.StoreUp, Leaders: 5, Regions: 9}
	silent, down, evicting, healthy := up, up, up, up
	silent.State, down.State, evicting.Evicting, evicting.Healthy, healthy.Healthy = state.StoreDisconnected, state.StoreDown, true, true, true
	type row struct {
		pod     *state.Pod
		pd      state.Database
		port    port
		answer  state.Answer
		healthy bool
		leaders int
	}
	for name, c := range map[string]row{
		"PD hears from it":                      {running, healthy, unasked(t), state.NotAsked, true, 5},
		"its container does not run":            {&state.Pod{}, silent, unasked(t), state.NotAsked, false, 5},
		"it has no pod":                         {nil, silent, unasked(t), state.NotAsked, false, 5},
		"it has opened its regions":             {running, up, holding(3, 9), state.Answered, true, 3},
		"it has yet to open its regions":        {running, up, holding(0, 0), state.Answered, false, 0},
		"PD does not hear from it, but we do":   {running, silent, holding(3, 9), state.Answered, false, 3},
		"PD calls it Down, but it answers":      {running, down, holding(3, 9), state.Answered, false, 3},
		"nothing listens, and PD counts":        {running, silent, fails(refused), state.Refused, false, 5},
		"the tunnel fails":                      {running, silent, fails(tunnel), state.NoAnswer, false, -1},
		"it times out":                          {running, silent, fails(context.DeadlineExceeded), state.NoAnswer, false, -1},
		"it is evicted, and nothing listens":    {running, evicting, fails(refused), state.Refused, true, -1},
		"it is evicted, and says how many left": {running, evicting, holding(2, 9), state.Answered, true, 2},
		"Kubernetes calls it NotReady":          {&state.Pod{Started: noon}, healthy, holding(3, 9), state.Answered, true, 3},
	} {
		members := []state.Member{{Kind: topology.TiKV, Name: "basic-tikv-0", Pod: c.pod, Database: c.pd}}
		through(c.port).askStores(t.Context(), basic, members)
		if d := members[0].Database; d.Answer != c.answer || d.Healthy != c.healthy || d.Leaders != c.leaders {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestProxiesAnswerThemselves(t *testing.T) {
	running := &state.Pod{Started: noon}
	for name, c := range map[string]struct {
		pod  *state.Pod
		port port
		want state.Database
		says string
	}{
		"it serves":               {running, says(200, "{}"), state.Database{Presence: state.Present, Healthy: true, Answer: state.Answered}, ""},
		"it drains its clients":   {running, says(502, "{}"), state.Database{Presence: state.Present, Answer: state.Refused, Listening: true, Draining: true}, "about to end"},
		"tidb-B6: no such page":   {running, says(404, ""), state.Database{Presence: state.Present, Answer: state.Refused, Listening: true}, "error"},
		"tidb-B6: not available":  {running, says(503, ""), state.Database{Presence: state.Present, Answer: state.Refused, Listening: true}, "error"},
		"nothing listens":         {running, fails(refused), state.Database{Presence: state.Present, Answer: state.Refused}, "refuses"},
		"the tunnel fails":        {running, fails(tunnel), state.Database{Answer: state.NoAnswer}, "could not be asked"},
		"its container never ran": {&state.Pod{}, unasked(t), state.Database{}, ""},
		"it has no pod":           {nil, unasked(t), state.Database{}, ""},
	} {
		members := []state.Member{{Kind: topology.TiProxy, Name: "basic-tiproxy-0", Pod: c.pod}}
		through(c.port).askProxies(t.Context(), basic, members)
		d := members[0].Database
		if !strings.Contains(d.Problem, c.says) || (c.says == "") != (d.Problem == "") {
			t.Errorf("%s: the problem is %q", name, d.Problem)
		}
		if d.Problem = ""; d != c.want {
			t.Errorf("%s: %+v", name, d)
		}
	}
	status := v1alpha1.TidbClusterStatus{TiProxy: v1alpha1.TiProxyStatus{Members: map[string]v1alpha1.TiProxyMember{
		"basic-tiproxy-0": {Name: "basic-tiproxy-0", LastTransitionTime: metav1.NewTime(noon)},
	}}}
	down := []state.Member{{Name: "basic-tiproxy-0", Database: state.Database{Presence: state.Present}}}
	if readerOf(topology.TiProxy).fillInSince(status, down); !down[0].Database.Since.Equal(noon) {
		t.Errorf("it is unhealthy since %s", down[0].Database.Since)
	}
}

func TestServersAnswerThemselves(t *testing.T) {
	running := &state.Pod{Started: noon}
	for name, c := range map[string]struct {
		pod  *state.Pod
		port port
		want state.Database
	}{
		"it serves":              {running, says(200, ""), state.Database{Presence: state.Present, Healthy: true, Answer: state.Answered}},
		"it answers an error":    {running, says(500, ""), state.Database{Presence: state.Present, Answer: state.Refused, Listening: true}},
		"nothing listens":        {running, fails(refused), state.Database{Presence: state.Present, Answer: state.Refused}},
		"the tunnel fails":       {running, fails(tunnel), state.Database{Answer: state.NoAnswer}},
		"its container is ended": {&state.Pod{Ready: true}, unasked(t), state.Database{}},
	} {
		members := []state.Member{{Kind: topology.TiDB, Name: "basic-tidb-0", Pod: c.pod}}
		through(c.port).askServers(t.Context(), basic, members)
		got := members[0].Database
		if (got.Problem == "") != (got.Healthy || got.Answer == state.NotAsked) {
			t.Errorf("%s: problem %q", name, got.Problem)
		}
		if got.Problem = ""; got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestHeartbeatOfProcess: a heartbeat in PD is one of the process that runs now only if a
// difference of clocks cannot explain its time.
func TestHeartbeatOfProcess(t *testing.T) {
	pod := &state.Pod{Started: noon}
	for name, c := range map[string]struct {
		beat, start time.Duration // after the container started
		regions     int
		want        bool
	}{
		"a heartbeat from before":                       {-time.Second, -time.Hour, 9, false},
		"a heartbeat just after, by a clock that leads": {3 * time.Minute, -time.Hour, 9, false},
		"a heartbeat from long after":                   {state.ClocksApart + 1, time.Second, 9, true},
		"the new process has registered, with nothing":  {-time.Second, 0, 0, true},
		"it has registered, and has regions to open":    {-time.Second, 0, 9, false},
		"the old process had registered with nothing":   {-time.Second, -time.Hour, 0, false},
	} {
		d := database{listed: map[topology.Kind]map[int]listed{topology.TiKV: {0: {
			Database:  state.Database{Presence: state.Present, State: state.StoreUp, Healthy: true, Regions: c.regions},
			heartbeat: noon.Add(c.beat), start: noon.Add(c.start),
		}}}}
		if got := d.member(topology.TiKV, 0, pod, time.Time{}); got.Healthy != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestFirstProcess: PD counts the first regions of a new store before the store does, and the store
// still counts as serving. If another process has run on the data before, there may be regions to
// open.
func TestFirstProcess(t *testing.T) {
	for name, c := range map[string]struct {
		born     time.Duration // the claim, after the pod was made
		start    time.Duration // the process, after its container
		restarts int
		want     bool
	}{
		"a claim made with the pod":                      {-time.Second, 0, 0, true},
		"a container that is noted a second later":       {-time.Second, -time.Second, 0, true},
		"a store that another process registered":        {-time.Second, -2 * time.Second, 0, false},
		"a container that has restarted":                 {-time.Second, 0, 1, false},
		"a claim made just long enough before the pod":   {-3 * time.Second, 0, 0, true},
		"a claim that an earlier pod had":                {-4 * time.Second, 0, 0, false},
		"a claim that is not known, on a volume by hand": {0, 0, 0, false},
	} {
		pod := &state.Pod{Made: noon.Add(-10 * time.Second), Started: noon, Restarts: c.restarts}
		born := pod.Made.Add(c.born)
		if c.born == 0 {
			born = time.Time{}
		}
		s := listed{
			Database: state.Database{Presence: state.Present, State: state.StoreUp, Healthy: true, Regions: 1},
			start:    noon.Add(c.start), heartbeat: noon.Add(time.Second),
		}
		if got := s.ofProcess(pod, born); got.Healthy != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

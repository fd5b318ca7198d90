package observe

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestServices: what PD says of the members of its services, by the process in the pod now.
func TestServices(t *testing.T) {
	const own, other = "http://basic-tso-0.basic-tso-peer.db.svc:2379", "http://basic-tso-1.basic-tso-peer.db.svc:2379"
	running := &state.Pod{Started: noon}
	lists := func(primary string, members ...pd.ServiceMember) serviceAnswer {
		return serviceAnswer{service: &pd.Service{Members: members, Primary: primary}}
	}
	member := func(url string, started time.Time) pd.ServiceMember {
		return pd.ServiceMember{Name: "n", URL: url, Version: "v8.5.2", Started: started}
	}
	for name, tt := range map[string]struct {
		answer  serviceAnswer
		pod     *state.Pod
		want    state.Presence
		healthy bool
		primary bool
		problem string
	}{
		"it is the primary":                {lists(own, member(own, noon)), running, state.Present, true, true, ""},
		"another one is the primary":       {lists(other, member(own, noon), member(other, noon)), running, state.Present, true, false, ""},
		"it started just after the pod":    {lists("", member(own, noon.Add(time.Second))), running, state.Present, true, false, ""},
		"it registered before its restart": {lists(own, member(own, noon.Add(-time.Minute))), running, state.Absent, false, false, "since it started"},
		"the last of two of its processes": {lists(own, member(own, noon), member(own, noon.Add(-time.Minute))), running, state.Present, true, true, ""},
		"it has not registered":            {lists(other, member(other, noon)), running, state.Absent, false, false, ""},
		"one of another cluster":           {lists("", member("http://basic-tso-0.basic-tso-peer.other.svc:2379", noon)), running, state.Absent, false, false, ""},
		"no store has joined":              {serviceAnswer{err: pd.ErrNotBootstrapped}, running, state.Unknown, false, false, "before a store has joined"},
		"PD does not answer":               {serviceAnswer{err: errors.New("busy")}, running, state.Unknown, false, false, "busy"},
	} {
		t.Run(name, func(t *testing.T) {
			a := answers{
				members: &pd.Members{}, replication: &pd.ReplicationConfig{},
				services: map[topology.Kind]serviceAnswer{topology.TSO: tt.answer},
			}
			d := a.sort(basic)
			got := d.member(topology.TSO, 0, tt.pod, time.Time{})
			if got.Presence != tt.want || got.Healthy != tt.healthy || got.Primary != tt.primary || !strings.Contains(got.Problem, tt.problem) {
				t.Errorf("%+v", got.Database)
			}
			if n := d.ordinals(topology.TSO); len(n) > 0 {
				t.Errorf("members %v are kept because PD lists them", n)
			}
		})
	}
}

// TestServicesAreAsked: a member that refuses connections does not serve, and one that answers serves only if PD lists
// it.
func TestServicesAreAsked(t *testing.T) {
	listed := state.Database{Presence: state.Present, Healthy: true}
	for name, tt := range map[string]struct {
		through *Observer
		before  state.Database
		healthy bool
		answer  state.Answer
	}{
		"it refuses":                        {through(fails(refused)), listed, false, state.Refused},
		"it does not answer":                {through(fails(tunnel)), listed, true, state.NoAnswer},
		"PD does not know it, and it is up": {through(says(200, "{}")), state.Database{Presence: state.Absent}, false, state.NotAsked},
		"it serves":                         {through(says(200, "{}")), listed, true, state.Answered},
	} {
		t.Run(name, func(t *testing.T) {
			members := []state.Member{{Kind: topology.TSO, Name: "basic-tso-0", Pod: &state.Pod{Started: noon, Addressed: true}, Database: tt.before}}
			tt.through.askServices(t.Context(), basic, members)
			if d := members[0].Database; d.Healthy != tt.healthy || d.Answer != tt.answer {
				t.Errorf("got %+v", d)
			}
		})
	}
}

package observe

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// TestWhoIsAsked: a member is asked at its own address, and only if its process may run and there
// is something to ask.
func TestWhoIsAsked(t *testing.T) {
	present := state.Database{Presence: state.Present, State: state.StoreDown}
	running, ended, reported := &state.Pod{Started: noon}, &state.Pod{}, &state.Pod{Addressed: true, Ran: true}
	for name, c := range map[string]struct {
		kind topology.Kind
		pod  *state.Pod
		db   state.Database
		want string
	}{
		"a member":                                  {topology.PD, running, present, "basic-pd-1.basic-pd-peer.db.svc:2379"},
		"a member that PD removed":                  {topology.PD, running, state.Database{Presence: state.Absent}, "basic-pd-1.basic-pd-peer.db.svc:2379"},
		"a member by an old report":                 {topology.PD, reported, state.Database{}, "basic-pd-1.basic-pd-peer.db.svc:2379"},
		"a member of an unknown PD":                 {topology.PD, running, state.Database{}, ""},
		"a member that does not run":                {topology.PD, ended, present, ""},
		"a member without a pod":                    {topology.PD, nil, present, ""},
		"a store":                                   {topology.TiKV, running, present, "basic-tikv-1.basic-tikv-peer.db.svc:20180"},
		"a store that PD has removed":               {topology.TiKV, running, state.Database{Presence: state.Absent}, "basic-tikv-1.basic-tikv-peer.db.svc:20180"},
		"a store by an old report":                  {topology.TiKV, reported, state.Database{Presence: state.Present, State: state.StoreUp, Healthy: true}, "basic-tikv-1.basic-tikv-peer.db.svc:20180"},
		"the same, and PD does not answer":          {topology.TiKV, reported, state.Database{}, "basic-tikv-1.basic-tikv-peer.db.svc:20180"},
		"a store without an address":                {topology.TiKV, ended, present, ""},
		"a server by an old report":                 {topology.TiDB, reported, state.Database{}, "basic-tidb-1.basic-tidb-peer.db.svc:10080"},
		"a store that leaves":                       {topology.TiKV, running, state.Database{Presence: state.Present, State: state.StoreOffline}, ""},
		"one that PD has just heard of":             {topology.TiKV, running, state.Database{Presence: state.Present, State: state.StoreOffline, Since: noon}, ""},
		"one heard of as long ago as clocks differ": {topology.TiKV, running, state.Database{Presence: state.Present, State: state.StoreOffline, Since: noon.Add(-state.ClocksApart)}, ""},
		"one that PD hears no more of":              {topology.TiKV, running, state.Database{Presence: state.Present, State: state.StoreOffline, Since: noon.Add(-state.ClocksApart - time.Second)}, "basic-tikv-1.basic-tikv-peer.db.svc:20180"},
		"a server":                                  {topology.TiDB, running, state.Database{}, "basic-tidb-1.basic-tidb-peer.db.svc:10080"},
	} {
		asked := ""
		o := through(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.Host
			return nil, refused
		})
		members := []state.Member{{Kind: c.kind, Ordinal: 1, Name: basic.PodName(c.kind, 1), Pod: c.pod, Database: c.db}}
		switch c.kind {
		case topology.PD:
			o.askMembers(t.Context(), basic, members)
		case topology.TiKV:
			o.askStores(t.Context(), basic, members)
		case topology.TiDB:
			o.askServers(t.Context(), basic, members)
		}
		if asked != c.want {
			t.Errorf("%s: asked %q, want %q", name, asked, c.want)
		}
	}
}

// TestWhatStoresSay: the answer of a store replaces what PD reports about it.
func TestWhatStoresSay(t *testing.T) {
	unproven := state.Database{Presence: state.Present, State: state.StoreUp, Leaders: 5, Regions: 7, Problem: "PD says", Since: noon}
	silent := unproven
	silent.State = state.StoreDisconnected
	serves := state.Database{Presence: state.Present, State: state.StoreUp, Healthy: true, Leaders: 1, Regions: 1, Answer: state.Answered}
	opening := unproven
	opening.Leaders, opening.Regions, opening.Answer = 0, 0, state.Answered
	added := state.Database{Presence: state.Present, State: state.StoreDown, New: true, Problem: "PD says"}
	first, dead := added, added
	first.Healthy, first.Answer, first.Problem = true, state.Answered, ""
	dead.Answer = state.Refused
	late := added
	late.Answer, late.Problem = state.Answered, "PD has not heard from the store, but the store itself answers"
	heard := silent
	heard.Leaders, heard.Regions, heard.Answer, heard.Problem = 1, 1, state.Answered, "PD has not heard from the store, but the store itself answers"
	for name, c := range map[string]struct {
		pd   state.Database
		runs time.Duration
		port port
		want state.Database
	}{
		"it serves":                           {unproven, 0, holding(1, 1), serves},
		"it has nothing open yet":             {unproven, 0, holding(0, 0), opening},
		"PD has not heard from it":            {silent, 0, holding(1, 1), heard},
		"it is new":                           {added, firstHeartbeat - time.Second, holding(0, 0), first},
		"it is new, and has ended":            {added, time.Second, fails(refused), dead},
		"its first heartbeat does not arrive": {added, firstHeartbeat, holding(0, 0), late},
		"the clock of its host is ahead":      {added, -soonStarted, holding(0, 0), late},
	} {
		running := &state.Pod{Ready: true, Started: noon.Add(-c.runs), Made: noon.Add(-max(c.runs, -c.runs))}
		members := []state.Member{{Kind: topology.TiKV, Name: "basic-tikv-0", Pod: running, Database: c.pd}}
		o := through(c.port)
		o.askStores(t.Context(), basic, members)
		if got := members[0].Database; got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
		if len(o.leaders.of) != 0 {
			t.Errorf("%s: it is not evicted, and its leaders are counted", name)
		}
	}
}

// TestWhatServersSay: the problem says why a server does not serve.
func TestWhatServersSay(t *testing.T) {
	for want, p := range map[string]port{
		"": says(200, ""), "status port reports an error": says(500, ""), "status port refuses connections": fails(refused),
		"status port could not be asked: ": fails(tunnel), "status port could not be asked: no answer in time": fails(context.DeadlineExceeded),
		"status port could not be asked: connect to pod ns/basic-tidb-0 port 10080: the node of the pod does not exist any more: h1": fails(&dial.ForwardError{
			Namespace: "ns", Pod: "basic-tidb-0", Port: 10080, Reason: dial.NodeNotFound, Err: errors.New("h1"),
		}),
	} {
		members := []state.Member{{Kind: topology.TiDB, Name: "basic-tidb-0", Pod: &state.Pod{Started: noon}}}
		through(p).askServers(t.Context(), basic, members)
		if got := members[0].Database.Problem; !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestNotTooManyAtOnce: no more than atOnce members are asked at the same time.
func TestNotTooManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		new(Observer).each(t.Context(), make([]state.Member, 3*atOnce), func(context.Context, *state.Member) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
		})
		if most != atOnce {
			t.Errorf("%d at once", most)
		}
	})
}

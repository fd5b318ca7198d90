package observe

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestFlashStoresAnswerThemselves: the answer of a store of TiFlash, and what PD reports of it.
func TestFlashStoresAnswerThemselves(t *testing.T) {
	const unheard = "PD has not heard from the store, but the store itself answers"
	pd := func(s state.StoreState, healthy bool) state.Database {
		d := state.Database{Presence: state.Present, State: s, Healthy: healthy}
		if !healthy {
			d.Problem, d.Since = "by PD", noon.Add(-time.Minute)
		}
		return d
	}
	is := func(d state.Database, a state.Answer, healthy bool, problem string) state.Database {
		d.Listening = strings.HasPrefix(problem, "TiFlash reports")
		if d.Answer, d.Healthy, d.Problem = a, healthy, problem; healthy {
			d.Since = time.Time{}
		}
		return d
	}
	running, up := &state.Pod{Ready: true, Made: noon, Started: noon}, pd(state.StoreUp, true)
	unproved, silent, lost := pd(state.StoreUp, false), pd(state.StoreDisconnected, false), pd(state.StoreDown, false)
	young := pd(state.StoreDown, false)
	young.New = true
	for name, tt := range map[string]struct {
		pod  *state.Pod
		pd   state.Database
		port port
		want state.Database
	}{
		"it serves":                                          {running, up, says(200, "Running"), is(up, state.Answered, true, "")},
		"it starts, and PD has heard of it":                  {running, up, says(200, "Idle\n"), is(up, state.Refused, false, "TiFlash reports that it is Idle")},
		"PD has heard of a former process":                   {running, unproved, says(200, "Running"), is(unproved, state.Answered, true, "")},
		"the same, and it starts":                            {running, unproved, says(200, "Ready"), is(unproved, state.Refused, false, "TiFlash reports that it is Ready")},
		"it is new, and has yet to send its first heartbeat": {running, young, says(200, "Running"), is(young, state.Answered, true, "")},
		"it is new, and has sent none for long":              {&state.Pod{Ready: true, Made: noon, Started: noon.Add(-firstHeartbeat)}, young, says(200, "Running"), is(young, state.Answered, false, unheard)},
		"PD has not heard of it for a while":                 {running, silent, says(200, "Running"), is(silent, state.Answered, false, unheard)},
		"PD has not heard of it for long":                    {running, lost, says(200, "Running"), is(lost, state.Answered, false, unheard)},
		"its version does not say":                           {running, unproved, says(404, ""), unproved},
		"its version does not say, PD has heard":             {running, up, says(404, ""), up},
		"nothing listens":                                    {running, up, fails(refused), is(up, state.Refused, true, "")},
		"nothing listens, and PD has not heard":              {running, silent, fails(refused), is(silent, state.Refused, false, "by PD")},
		"the tunnel fails":                                   {running, unproved, fails(tunnel), is(unproved, state.NoAnswer, false, "by PD")},
		"it fails":                                           {running, up, says(500, "Running"), is(up, state.NoAnswer, true, "")},
		"it has no pod":                                      {nil, up, unasked(t), up},
		"its container never ran":                            {&state.Pod{}, up, unasked(t), up},
		"PD does not list it":                                {running, state.Database{Presence: state.Absent}, says(200, "Idle"), state.Database{Presence: state.Absent}},
		"PD does not list it, and it has joined":             {running, state.Database{Presence: state.Absent}, says(200, "Running"), state.Database{Problem: "PD lists no store at the address of its pod, and TiFlash itself reports that it is running"}},
		"an old report, and PD does not answer":              {&state.Pod{Addressed: true}, state.Database{}, says(200, "Running"), state.Database{Answer: state.Answered}},
		"PD does not answer":                                 {running, state.Database{}, unasked(t), state.Database{}},
		"it was removed, and its process has yet to end":     {running, pd(state.StoreTombstone, false), unasked(t), pd(state.StoreTombstone, false)},
	} {
		t.Run(name, func(t *testing.T) {
			members := []state.Member{{Kind: topology.TiFlash, Name: "basic-tiflash-0", Pod: tt.pod, Database: tt.pd}}
			readerOf(topology.TiFlash).ask(through(tt.port), t.Context(), basic, members)
			if got := members[0].Database; got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestWhereMembersAreAsked: each at its own address, over TLS where the cluster has it.
func TestWhereMembersAreAsked(t *testing.T) {
	for _, tt := range []struct {
		kind       topology.Kind
		plain, tls string
	}{
		{topology.TiFlash, "http://basic-tiflash-0.basic-tiflash-peer.db.svc:20292/tiflash/store-status", "https://basic-tiflash-0.basic-tiflash-peer.db.svc:20292/tiflash/store-status"},
		{topology.TiCDC, "http://basic-ticdc-0.basic-ticdc-peer.db.svc:8301/status", "https://basic-ticdc-0.basic-ticdc-peer.db.svc:8301/status"},
		{topology.TiProxy, "http://basic-tiproxy-0.basic-tiproxy-peer.db.svc:3080/api/debug/health", "https://basic-tiproxy-0.basic-tiproxy-peer.db.svc:3080/api/debug/health"},
	} {
		for members, want := range map[bool]string{false: tt.plain, true: tt.tls} {
			c, asked := basic, ""
			c.TLS.Members = members
			o := through(func(r *http.Request) (*http.Response, error) {
				asked = r.URL.String()
				return nil, refused
			})
			readerOf(tt.kind).ask(o, t.Context(), c, []state.Member{{
				Kind: tt.kind, Name: c.PodName(tt.kind, 0), Pod: &state.Pod{Started: noon}, Database: state.Database{Presence: state.Present},
			}})
			if asked != want {
				t.Errorf("%s: %s, want %s", tt.kind, asked, want)
			}
		}
	}
}

package observe

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// paths answers requests by their path: a code and a body, such as "200 {}"; others with 404.
func paths(answers map[string]string) port {
	return func(r *http.Request) (*http.Response, error) {
		code, body := 404, ""
		switch answer := answers[r.URL.Path]; {
		case answer == "fails":
			return nil, errors.New("connection lost")
		case strings.HasPrefix(answer, "503"):
			code = 503
		case answer != "":
			code, body = 200, answer
		}
		return &http.Response{Request: r, StatusCode: code, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// TestCapturesAnswerThemselves: what a capture says of itself, and TiCDC of all captures.
func TestCapturesAnswerThemselves(t *testing.T) {
	const (
		status = `{"version":"v8.1.0","id":"a","is_owner":false}`
		own    = `{"id":"a","is_owner":false,"address":"basic-ticdc-0.basic-ticdc-peer.db.svc:8301"}`
		owner  = `{"id":"b","is_owner":true,"address":"basic-ticdc-1.basic-ticdc-peer.db.svc:8301"}`
		// Of another namespace, whose name begins with ours.
		similar = `{"id":"c","is_owner":true,"address":"basic-ticdc-0.basic-ticdc-peer.db.svc-2:8301"}`
		former  = `{"id":"d","is_owner":true,"address":"basic-ticdc-0.basic-ticdc-peer.db.svc:8301"}`
		list    = "/api/v1/captures"
	)
	serves := func(c state.Capture) state.Database {
		c.ID = "a"
		return state.Database{Presence: state.Present, Healthy: true, Answer: state.Answered, Version: "v8.1.0", Capture: c}
	}
	running := &state.Pod{Started: noon}
	for name, tt := range map[string]struct {
		pod  *state.Pod
		port port
		want state.Database
		says string
	}{
		"it serves": {running, paths(map[string]string{"/status": status, list: "[" + own + "," + owner + "]"}),
			serves(state.Capture{Drains: state.CanDrain, Leads: "b", Others: 1, Feeds: state.FeedsUnknown}), ""},
		"tidb-B13: an address that is similar is another one": {running, paths(map[string]string{"/status": status, list: "[" + own + "," + similar + "]"}),
			serves(state.Capture{Drains: state.CanDrain, Leads: "c", Others: 1, Feeds: state.FeedsUnknown}), ""},
		"one at its address has ended": {running, paths(map[string]string{"/status": status, list: "[" + former + "," + own + "]", "/api/v2/changefeeds": `{"items":[]}`}),
			serves(state.Capture{Drains: state.CanDrain, Leads: "d"}), ""},
		"it is the only one": {running, paths(map[string]string{
			"/status": `{"version":"v8.1.0","id":"b","is_owner":true}`, list: "[" + owner + "]", "/api/v2/changefeeds": `{"items":[{"state":"normal"}]}`,
		}), state.Database{Presence: state.Present, Healthy: true, Answer: state.Answered, Version: "v8.1.0",
			Capture: state.Capture{ID: "b", Owner: true, Drains: state.CanDrain, Leads: "b", Feeds: 1}}, ""},
		"it is the only one, and changefeeds are not known": {running, paths(map[string]string{
			"/status": status, list: "[" + own + "]", "/api/v2/changefeeds": "503",
		}), serves(state.Capture{Drains: state.CanDrain, Feeds: state.FeedsUnknown}), ""},
		"it is the only one, and its version does not list changefeeds": {running, paths(map[string]string{
			"/status": status, list: "[" + own + "]",
		}), serves(state.Capture{Drains: state.CannotDrain, Feeds: state.FeedsUnknown}), ""},
		"it owns TiCDC by its own word": {running, paths(map[string]string{
			"/status": `{"version":"v8.1.0","id":"a","is_owner":true}`, list: "503",
		}), serves(state.Capture{Owner: true, Feeds: state.FeedsUnknown}), ""},
		"its version lists nothing": {running, paths(map[string]string{"/status": status}),
			serves(state.Capture{Drains: state.CannotDrain, Feeds: state.FeedsUnknown}), ""},
		"there is no owner": {running, paths(map[string]string{"/status": status, list: "503"}),
			serves(state.Capture{Feeds: state.FeedsUnknown}), ""},
		"tidb-B14: no list": {running, paths(map[string]string{"/status": status, list: `{"error_msg":"x"}`}),
			serves(state.Capture{Feeds: state.FeedsUnknown}), ""},
		"the owner is lost": {running, paths(map[string]string{"/status": status, list: "fails"}),
			serves(state.Capture{Feeds: state.FeedsUnknown}), ""},
		"it is not listed": {running, paths(map[string]string{"/status": status, list: "[" + owner + "]"}),
			state.Database{Presence: state.Present, Answer: state.Answered, Version: "v8.1.0", Capture: state.Capture{ID: "a", Feeds: state.FeedsUnknown}}, "does not list"},
		"nothing listens":         {running, fails(refused), state.Database{Presence: state.Present, Answer: state.Refused}, "refuses"},
		"the tunnel fails":        {running, fails(tunnel), state.Database{Answer: state.NoAnswer}, "could not be asked"},
		"its container never ran": {&state.Pod{}, unasked(t), state.Database{}, ""},
		"it has no pod":           {nil, unasked(t), state.Database{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			members := []state.Member{{Kind: topology.TiCDC, Name: "basic-ticdc-0", Pod: tt.pod}}
			readerOf(topology.TiCDC).ask(through(tt.port), t.Context(), basic, members)
			d := members[0].Database
			if !strings.Contains(d.Problem, tt.says) || (tt.says == "") != (d.Problem == "") {
				t.Errorf("the problem is %q", d.Problem)
			}
			if d.Problem = ""; d != tt.want {
				t.Errorf("%+v, want %+v", d, tt.want)
			}
		})
	}
}

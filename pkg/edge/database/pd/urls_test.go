package pd

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAddress: a URL that a member reports says where it is, and nothing of what is asked there.
func TestAddress(t *testing.T) {
	for reported, want := range map[string]string{
		"http://basic-pd-0.basic-pd-peer.db.svc:2379":   "http://basic-pd-0.basic-pd-peer.db.svc:2379",
		"https://basic-pd-0.basic-pd-peer.db.svc:2379/": "https://basic-pd-0.basic-pd-peer.db.svc:2379",
		"http://[fd00::1]:2379":                         "http://[fd00::1]:2379",
		"http://h:2379/v1/secret/prod?ignored=":         "",
		"http://h:2379/v1":                              "",
		"http://h:2379//":                               "",
		"http://h:2379?x":                               "",
		"http://h:2379?":                                "",
		"http://h:2379#":                                "",
		"http://user:password@h:2379":                   "",
		"http://user@h:2379":                            "",
		"file:///etc/passwd":                            "",
		"unix://h:2379":                                 "",
		"h:2379":                                        "",
		"http://":                                       "",
		"":                                              "",
		"http://h:2379\nHost: other":                    "",
		"http:h:2379":                                   "",
		"http://h:23x":                                  "",
	} {
		if got, ok := address(reported); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", reported, got, ok)
		}
	}
}

// TestReportedURLs: neither a leader nor a list of members brings a path of its own into a request.
func TestReportedURLs(t *testing.T) {
	inGroup(t, func(c *Config) { c.Budget = 10 * time.Second }, func(t *testing.T, g *group, c Client) {
		bad := "http://" + hostName(1) + "/v1/secret?ignored="
		says := `{"name":"other","client_urls":["` + bad + `","http://u:p@` + hostName(1) + `"]}`
		g.set(func() { g.starting = map[string]string{hostName(0): says, hostName(1): says, hostName(2): says} })
		_, err := c.Members(t.Context())
		if !errors.Is(err, ErrLeaderUnreachable) || g.count("GET /v1") != 0 {
			t.Errorf("%v; asked for a path of the member: %d", err, g.count("GET /v1"))
		}
		g.set(func() { g.starting = nil })
		g.answer("GET /pd/api/v1/members", `{"header":{"cluster_id":7},"members":[{"name":"pd-0","member_id":1,"client_urls":["`+bad+`","http://new:2379/"]}],"leader":{"name":"pd-0","member_id":1}}`)
		if _, err := c.Members(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.(*client).learnt, " "); got != "http://new:2379" {
			t.Errorf("learnt %s", got)
		}
	})
}

// TestNoBodiesInErrors: an answer that has not the shape of PD's is told by its code alone.
func TestNoBodiesInErrors(t *testing.T) {
	for body, want := range map[string]string{
		"VICTIM-BODY token=abc":                       "403 Forbidden",
		`{"errors":["token=abc"]}`:                    "403 Forbidden",
		"<html>token=abc</html>":                      "403 Forbidden",
		`"[PD:core:ErrStoreNotFound]store not found"`: "403 Forbidden: [PD:core:ErrStoreNotFound]store not found",
		"[PD:etcd:ErrX]text":                          "403 Forbidden: [PD:etcd:ErrX]text",
		"404 page not found":                          "403 Forbidden: 404 page not found",
		`"` + strings.Repeat("a", 300) + `"`:          "403 Forbidden: " + strings.Repeat("a", 200) + "…",
	} {
		r := &http.Response{StatusCode: 403, Body: io.NopCloser(strings.NewReader(body)), Request: &http.Request{Method: "GET"}}
		r.Request, _ = http.NewRequest(http.MethodGet, "http://h/x", nil)
		if err := readResponse(r, nil); err == nil || err.Error() != "GET http://h/x: "+want {
			t.Errorf("%s: %v", body, err)
		}
	}
}

package pd

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestService: what PD answers about a service, in v8.1 and with names since v8.3.
func TestService(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.handle("GET /pd/api/v2/ms/members/tso", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`[
				{"service-addr": "http://basic-tso-0.basic-tso-peer.db.svc:2379", "version": "v8.1.0", "git-hash": "x", "deploy-path": "/", "start-timestamp": 1732000000},
				{"name": "basic-tso-1", "service-addr": "http://basic-tso-1.basic-tso-peer.db.svc:2379", "version": "v8.5.2"}
			]`))
		})
		g.handle("GET /pd/api/v2/ms/primary/tso", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`"http://basic-tso-1.basic-tso-peer.db.svc:2379"`))
		})
		got, err := c.Service(t.Context(), "tso")
		want := &Service{
			Members: []ServiceMember{
				{URL: "http://basic-tso-0.basic-tso-peer.db.svc:2379", Version: "v8.1.0", Started: time.Unix(1732000000, 0)},
				{Name: "basic-tso-1", URL: "http://basic-tso-1.basic-tso-peer.db.svc:2379", Version: "v8.5.2"},
			},
			Primary: "http://basic-tso-1.basic-tso-peer.db.svc:2379",
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestServiceUnknown: what PD does not list is an error, and no empty list.
func TestServiceUnknown(t *testing.T) {
	for name, tt := range map[string]struct {
		code int
		says string
		want error
	}{
		"it has no services": {404, `"not support micro service"`, ErrRefused},
		"it has no stores":   {500, `"[PD:server:ErrNotBootstrapped]TiKV cluster not bootstrapped, please start TiKV first"`, ErrNotBootstrapped},
		"it is no JSON":      {200, `<html>`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, nil, func(t *testing.T, g *group, c Client) {
				g.handle("GET /pd/api/v2/ms/members/tso", func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(tt.code)
					_, _ = w.Write([]byte(tt.says))
				})
				if got, err := c.Service(t.Context(), "tso"); err == nil || got != nil || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("got %+v, %v", got, err)
				}
			})
		})
	}
}

func TestTransferPrimary(t *testing.T) {
	for name, tt := range map[string]struct {
		code int
		says string
		want string // in the error, "" for none
	}{
		"it is done":    {200, `"success"`, ""},
		"it is refused": {500, `"no valid secondary to transfer primary"`, "500 Internal Server Error"},
		"it is too old": {404, `404 page not found`, "404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var asked map[string]string
				if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked["new_primary"] != "basic-tso-0" || r.Method+" "+r.URL.Path != "POST /tso/api/v1/primary/transfer" {
					t.Errorf("%s %s with %v: %v", r.Method, r.URL.Path, asked, err)
				}
				w.WriteHeader(tt.code)
				_, _ = w.Write([]byte(tt.says))
			}))
			defer server.Close()
			c := ServiceClient{HTTP: server.Client(), URL: server.URL, Service: "tso"}
			err := c.TransferPrimary(t.Context(), "basic-tso-0")
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

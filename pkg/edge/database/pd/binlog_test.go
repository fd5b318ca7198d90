package pd

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// gateway answers a range of keys as etcd's HTTP gateway does.
func gateway(t *testing.T, entries map[string]string) string {
	t.Helper()
	type entry struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	var kvs []entry
	for key, value := range entries {
		kvs = append(kvs, entry{base64.StdEncoding.EncodeToString([]byte(key)), base64.StdEncoding.EncodeToString([]byte(value))})
	}
	text, err := json.Marshal(map[string]any{"header": map[string]string{"cluster_id": "7"}, "kvs": kvs})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const pumpEntry = `{"nodeId":"basic-pump-0:8250","host":"basic-pump-0.basic-pump:8250","state":"online","isAlive":false,"score":0,"label":null,"maxCommitTS":470633709976682500,"updateTS":470633710500970499}`

func TestBinlogNodes(t *testing.T) {
	want := []BinlogNode{{
		ID: "basic-pump-0:8250", Host: "basic-pump-0.basic-pump:8250", State: "online",
		Written: time.UnixMilli(470633709976682500 >> 18), Updated: time.UnixMilli(470633710500970499 >> 18),
	}}
	for name, route := range map[string]string{"etcd 3.4": "POST /v3/kv/range", "etcd 3.3": "POST /v3beta/kv/range"} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, nil, func(t *testing.T, g *group, c Client) {
				g.handle(route, func(w http.ResponseWriter, r *http.Request) {
					var asked map[string]string
					if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked["key"] != "L3RpZGItYmlubG9nL3YxLw==" || asked["range_end"] != "L3RpZGItYmlubG9nL3YxMA==" {
						t.Errorf("asked for %v: %v", asked, err)
					}
					_, _ = w.Write([]byte(gateway(t, map[string]string{"/tidb-binlog/v1/pumps/basic-pump-0:8250": pumpEntry, "/tidb-binlog/v1/other/x": "x"})))
				})
				got, err := c.BinlogNodes(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if len(got) == 1 {
					got[0].Answered = time.Time{}
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%+v, want %+v", got, want)
				}
			})
		})
	}
}

// TestDrainers: drainers are told apart, and an empty range is no error.
func TestDrainers(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.answer("POST /v3/kv/range", gateway(t, map[string]string{"/tidb-binlog/v1/drainers/d": `{"nodeId":"d","host":"x:8249","state":"paused"}`}))
		got, err := c.BinlogNodes(t.Context())
		if err != nil || len(got) != 1 || !got[0].Drainer || got[0].State != "paused" || !got[0].Updated.IsZero() {
			t.Errorf("%+v, %v", got, err)
		}
		g.answer("POST /v3/kv/range", `{"header":{"cluster_id":"7"}}`)
		if got, err := c.BinlogNodes(t.Context()); err != nil || got == nil || len(got) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestBinlogNodesUnknown: what cannot be read is an error, and no empty list.
func TestBinlogNodesUnknown(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		_, err := c.BinlogNodes(t.Context())
		var status *StatusError
		if !errors.As(err, &status) || status.Code != 404 {
			t.Errorf("without the gateway: %v", err)
		}
		g.answer("POST /v3/kv/range", gateway(t, map[string]string{"/tidb-binlog/v1/pumps/x": "{"}))
		if _, err := c.BinlogNodes(t.Context()); err == nil || !strings.Contains(err.Error(), "/tidb-binlog/v1/pumps/x") {
			t.Errorf("an entry that cannot be read: %v", err)
		}
	})
}

// An answer that is none of etcd's is an error: else there would seem to be no Pump, and its data could be deleted.
func TestBinlogNodesOfNoEtcd(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.handle("POST /v3/kv/range", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) })
		if got, err := c.BinlogNodes(t.Context()); err == nil || !strings.Contains(err.Error(), "not one of etcd") {
			t.Errorf("%v, %v", got, err)
		}
	})
}

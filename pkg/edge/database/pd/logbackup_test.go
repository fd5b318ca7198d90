package pd

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// TestLogBackups: a task is one that has its information in PD's etcd; what else is there of others is none.
func TestLogBackups(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ts := binary.BigEndian.AppendUint64(nil, uint64(at.UnixMilli())<<18) //nolint:gosec // a time after 1970
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.handle("POST /v3/kv/range", func(w http.ResponseWriter, r *http.Request) {
			var in map[string][]byte
			json.NewDecoder(r.Body).Decode(&in)
			if string(in["key"]) != "/tidb/br-stream/" || string(in["range_end"]) != "/tidb/br-stream0" {
				t.Errorf("%q", in)
			}
			var entries []etcdEntry
			for _, e := range []struct{ key, value string }{
				{"checkpoint/a/central_global", string(ts)}, {"checkpoint/a/store/1", "12345678"}, {"info/a", "x"}, {"info/b", "x"},
				{"pause/b", ""}, {"pause/gone", ""}, {"ranges/a/t", "z"}, {"owner", "x"},
			} {
				entries = append(entries, etcdEntry{[]byte(logBackupPrefix + e.key), []byte(e.value)})
			}
			json.NewEncoder(w).Encode(map[string]any{"header": map[string]string{"cluster_id": "7"}, "kvs": entries})
		})
		got, err := c.LogBackups(t.Context())
		if err != nil || len(got) != 2 || got[0].Task != "a" || got[0].Paused || !got[0].Checkpoint.Equal(at) ||
			got[1].Task != "b" || !got[1].Paused || !got[1].Checkpoint.IsZero() {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

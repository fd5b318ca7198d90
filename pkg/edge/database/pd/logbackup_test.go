package pd

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// field appends a field of a protobuf message, of a number or of bytes.
func field(message []byte, n protowire.Number, value any) []byte {
	switch v := value.(type) {
	case uint64:
		return protowire.AppendVarint(protowire.AppendTag(message, n, protowire.VarintType), v)
	case string:
		return protowire.AppendString(protowire.AppendTag(message, n, protowire.BytesType), v)
	}
	return protowire.AppendBytes(protowire.AppendTag(message, n, protowire.BytesType), value.([]byte))
}

// TestLogBackup: what BR and TiDB write about one task, in the forms of old and new versions.
func TestLogBackup(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ts := uint64(at.UnixMilli()) << 18                                                                                          //nolint:gosec // a time after 1970
	failure := field(field(field(field(nil, 1, uint64(at.UnixMilli())), 2, "KV:LogBackup:Other"), 3, "no space"), 4, uint64(4)) //nolint:gosec // a time after 1970
	s3 := field(nil, 3, field(field(field(nil, 1, "http://s3:9000"), 3, "logs"), 4, "/basic/"))
	information := field(field(field(field(field(nil, 1, s3), 2, ts), 3, uint64(math.MaxInt64)), 4, "pitr"), 5, "*.*")
	pause := func(kind string, payload []byte) string {
		text, _ := json.Marshal(map[string]string{
			"severity": "ERROR", "operation_hostname": "tidb-0", "operation_time": "2026-01-01T00:00:00Z", "payload_type": kind,
			"payload": base64.StdEncoding.EncodeToString(payload),
		})
		return string(text)
	}
	stamp := string(binary.BigEndian.AppendUint64(nil, ts))
	for name, tt := range map[string]struct {
		entries map[string]string
		want    LogBackup
	}{
		"all": {
			map[string]string{
				"info/pitr": string(information), "checkpoint/pitr/central_global": stamp, "checkpoint/pitr/store/4": stamp,
				"storage-checkpoint/pitr/4": stamp,
				"last-error/pitr/4":         string(failure), "pause/pitr": pause("application/x-protobuf;messagetype=brpb.StreamBackupError", failure),
			},
			LogBackup{
				Task: "pitr", Start: at, Storage: "s3://logs/basic", Filters: []string{"*.*"}, Checkpoint: at,
				Errors: []LogBackupError{{4, at, "KV:LogBackup:Other", "no space"}}, Paused: true, Pause: LogBackupPause{"ERROR", "tidb-0", at, "no space"},
			},
		},
		"a person has paused it": {
			map[string]string{"info/pitr": string(field(nil, 1, field(nil, 2, field(nil, 1, "/data/log")))), "pause/pitr": pause("text/plain;charset=UTF-8", []byte("a move"))},
			LogBackup{Task: "pitr", Storage: "local:///data/log", Paused: true, Pause: LogBackupPause{"ERROR", "tidb-0", at, "a move"}},
		},
		"a pause of an old version": {map[string]string{"info/pitr": "", "pause/pitr": ""}, LogBackup{Task: "pitr", Paused: true}},
		"a message that is cut off": {map[string]string{"info/pitr": string(information[:len(information)-1])}, LogBackup{Task: "pitr", Start: at, Storage: "s3://logs/basic"}},
		"another kind of storage":   {map[string]string{"info/pitr": string(field(nil, 1, field(nil, 7, "azure")))}, LogBackup{Task: "pitr"}},
	} {
		inGroup(t, nil, func(t *testing.T, g *group, c Client) {
			g.handle("POST /v3/kv/range", func(w http.ResponseWriter, _ *http.Request) {
				var entries []etcdEntry
				for key, value := range tt.entries {
					entries = append(entries, etcdEntry{[]byte(logBackupPrefix + key), []byte(value)})
				}
				json.NewEncoder(w).Encode(map[string]any{"header": map[string]string{"cluster_id": "7"}, "kvs": entries})
			})
			got, err := c.LogBackups(t.Context())
			if err != nil || len(got) != 1 {
				t.Fatalf("%s: %+v, %v", name, got, err)
			}
			got[0].Answered = time.Time{}
			if diff := cmp.Diff(tt.want, got[0]); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		})
	}
}

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

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// logBackup: a task in PD's etcd, as BR of v8 and TiDB write it, is shown with how far it reaches, and with who has paused
// it. BR of the node is too old to make one, so the test writes the keys.
func (p *person) logBackup(t *testing.T) {
	if r := p.tidb(t, 0, "backup", "log", "status", cluster); !strings.Contains(r.Stderr, "has no log backup") {
		t.Errorf("without one: %s%s", r.Stdout, r.Stderr)
	}
	const prefix = "/tidb/br-stream/"
	hourAgo := uint64(time.Now().Add(-time.Hour-30*time.Second).UnixMilli()) << 18 //nolint:gosec // a time after 1970
	p.etcd(t, "put", map[string][]byte{"key": []byte(prefix + "info/pitr"), "value": {0x22, 4, 'p', 'i', 't', 'r'}})
	p.etcd(t, "put", map[string][]byte{"key": []byte(prefix + "checkpoint/pitr/central_global"), "value": binary.BigEndian.AppendUint64(nil, hourAgo)})
	pause, err := json.Marshal(map[string]string{
		"severity": "MANUAL", "operation_hostname": "br-0", "operation_time": "2026-03-10T02:00:00Z", "payload_type": "text/plain;charset=UTF-8",
		"payload": base64.StdEncoding.EncodeToString([]byte("a move")),
	})
	if err != nil {
		t.Fatal(err)
	}
	p.etcd(t, "put", map[string][]byte{"key": []byte(prefix + "pause/pitr"), "value": pause})
	t.Cleanup(func() {
		p.etcd(t, "deleterange", map[string][]byte{"key": []byte(prefix), "range_end": []byte("/tidb/br-stream0")})
	})
	shown := p.tidb(t, 0, "backup", "log", "status", cluster).Stdout
	for _, want := range []string{"pitr", "Paused", "60m", "log backup pitr is paused since 2026-03-10T02:00:00Z by br-0: a move"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing:\n%s", want, shown)
		}
	}
	if r := p.tidb(t, 0, "status", cluster); !strings.Contains(r.Stdout+r.Stderr, "log backup pitr is paused") {
		t.Errorf("status: %s%s", r.Stdout, r.Stderr)
	}
}

// etcd sends a request to the etcd of PD.
func (p *person) etcd(t *testing.T, request string, body map[string][]byte) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("http://%s-pd-0.%s-pd-peer.%s.svc:2379/v3/kv/%s", cluster, cluster, p.plugin.Namespace, request)
	response, err := p.http.Post(url, "application/json", bytes.NewReader(data)) //nolint:noctx // the client has a time limit
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, response.Status)
	}
}

package pd

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"
)

// etcdOfOne is the etcd of a PD, as far as the lock of parts needs it.
type etcdOfOne struct {
	leases []string // that have not ended
	value  []byte   // of the lock, nil for none
	lease  string   // that the lock has
	next   int
}

// serve has a group of members answer for it.
func (e *etcdOfOne) serve(g *group) {
	header := map[string]string{"cluster_id": "7"}
	handle := func(path string, answer func(in map[string]json.RawMessage) map[string]any) {
		g.handle("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var in map[string]json.RawMessage
			json.NewDecoder(r.Body).Decode(&in)
			out := answer(in)
			if out == nil {
				w.WriteHeader(http.StatusNotFound)
				json.NewEncoder(w).Encode(map[string]any{"error": "requested lease not found", "code": 5})
				return
			}
			json.NewEncoder(w).Encode(out)
		})
	}
	text := func(raw json.RawMessage) (s string) { json.Unmarshal(raw, &s); return s }
	entries := func() []etcdEntry {
		if e.value == nil {
			return nil
		}
		return []etcdEntry{{[]byte(keyLock), e.value}}
	}
	handle("/v3/lease/grant", func(map[string]json.RawMessage) map[string]any {
		e.next++
		id := strconv.Itoa(e.next)
		e.leases = append(e.leases, id)
		return map[string]any{"header": header, "ID": id, "TTL": "90"}
	})
	handle("/v3/lease/keepalive", func(in map[string]json.RawMessage) map[string]any {
		result := map[string]any{"header": header, "ID": text(in["ID"])}
		if slices.Contains(e.leases, text(in["ID"])) {
			result["TTL"] = "90"
		}
		return map[string]any{"result": result}
	})
	handle("/v3/lease/revoke", func(in map[string]json.RawMessage) map[string]any {
		id := text(in["ID"])
		if !slices.Contains(e.leases, id) {
			return nil
		}
		e.end(id)
		return map[string]any{"header": header}
	})
	handle("/v3/kv/range", func(map[string]json.RawMessage) map[string]any {
		return map[string]any{"header": header, "kvs": entries()}
	})
	handle("/v3/kv/txn", func(in map[string]json.RawMessage) map[string]any {
		var compare []struct {
			Target string `json:"target"`
			Value  []byte `json:"value"`
		}
		json.Unmarshal(in["compare"], &compare)
		if holds := compare[0].Target == "CREATE" && e.value == nil || compare[0].Target == "VALUE" && slices.Equal(compare[0].Value, e.value); !holds {
			return map[string]any{"header": header, "responses": []any{map[string]any{"response_range": map[string]any{"kvs": entries()}}}}
		}
		var success []struct {
			Put struct {
				Value []byte `json:"value"`
				Lease string `json:"lease"`
			} `json:"request_put"`
		}
		json.Unmarshal(in["success"], &success)
		e.value, e.lease = success[0].Put.Value, success[0].Put.Lease
		return map[string]any{"header": header, "succeeded": true, "responses": []any{map[string]any{}}}
	})
}

// end ends a lease of etcd, and with it the lock that has it.
func (e *etcdOfOne) end(id string) {
	e.leases = slices.DeleteFunc(e.leases, func(l string) bool { return l == id })
	if e.lease == id {
		e.value, e.lease = nil, ""
	}
}

// TestLock: one part has the lock at a time. A process of the same part replaces it, and the old process loses it. A real
// PD answers the same requests in "make e2e".
func TestLock(t *testing.T) {
	etcd := &etcdOfOne{}
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		etcd.serve(g)
		ctx, lasts := t.Context(), 90*time.Second
		if l, err := c.Lock(ctx); l != nil || err != nil {
			t.Fatalf("at first: %v, %v", l, err)
		}
		first, err := c.TakeLock(ctx, Lock{UID: "a", Part: "db/a", Nonce: "1"}, lasts)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.TakeLock(ctx, Lock{UID: "b", Part: "db/b", Nonce: "2"}, lasts)
		if locked, ok := errors.AsType[*LockedError](err); !ok || locked.By.Part != "db/a" || len(etcd.leases) != 1 {
			t.Fatalf("of another part: %v, leases %v", err, etcd.leases)
		}
		if err := c.RenewLock(ctx, first, "1"); err != nil {
			t.Fatal(err)
		}
		second, err := c.TakeLock(ctx, Lock{UID: "a", Part: "db/a", Nonce: "3"}, lasts)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.RenewLock(ctx, first, "1"); !errors.Is(err, ErrLockLost) {
			t.Errorf("a lock that was replaced is renewed: %v", err)
		}
		if err := c.ReleaseLock(ctx, first); err != nil || etcd.value == nil {
			t.Errorf("the release of the replaced lock: %v, value %s", err, etcd.value)
		}
		etcd.end(second)
		if err := c.RenewLock(ctx, second, "3"); !errors.Is(err, ErrLockLost) {
			t.Errorf("a lock that PD has ended is renewed: %v", err)
		}
		if err := c.ReleaseLock(ctx, second); err != nil {
			t.Errorf("the release of a lock that PD has ended: %v", err)
		}
	})
}

// TestForeignLock: what a later version of the plugin writes there is a lock, too.
func TestForeignLock(t *testing.T) {
	etcd := &etcdOfOne{value: []byte("{}")}
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		etcd.serve(g)
		_, err := c.TakeLock(t.Context(), Lock{UID: "a", Nonce: "1"}, time.Minute)
		if _, locked := errors.AsType[*LockedError](err); !locked {
			t.Errorf("taken: %v", err)
		}
	})
}

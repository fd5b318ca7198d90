package pd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Lock is a record in PD's etcd of the driver that may take members of the database away. All parts of the database
// share it, whatever Kubernetes cluster they are in. PD deletes a Lock that is not renewed.
type Lock struct {
	// UID is that of the TidbCluster of the part. Names may be the same in two Kubernetes clusters.
	UID string `json:"uid"`
	// Part is its namespace and name.
	Part string `json:"part"`
	// Nonce distinguishes this Lock from earlier ones of the part, whose renewal must not count for it.
	Nonce string `json:"nonce"`
	// Holder says who drives the part, and where.
	Holder string    `json:"holder"`
	Since  time.Time `json:"since"`
}

// LockedError is the error of a Lock that another part has.
type LockedError struct{ By Lock }

func (e *LockedError) Error() string {
	return fmt.Sprintf("part %s takes members of the database away, driven by %s since %s", e.By.Part, e.By.Holder, e.By.Since.UTC().Format(time.RFC3339))
}

// ErrLockLost: the Lock was not renewed in time, or another process of the part has replaced the Lock.
var ErrLockLost = errors.New("the lock of parts in PD was lost, so another part may take members away now")

// keyLock is the key of the Lock.
const keyLock = "/kubectl-tidb/lock"

// Lock implements Client.
func (c *client) Lock(ctx context.Context) (*Lock, error) {
	const op = "read the lock of parts"
	entries, _, err := c.etcdEntries(ctx, op, keyLock, keyLock+"\x00")
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	l := lockOf(entries[0].Value)
	return &l, nil
}

// lockOf decodes a Lock. What cannot be decoded is still a Lock, of a later version of this program.
func lockOf(value []byte) Lock {
	var l Lock
	if json.Unmarshal(value, &l) != nil || l.UID == "" {
		return Lock{Part: "of another version", Holder: "another version of kubectl tidb"}
	}
	return l
}

// number64 is a number as the gateway of etcd writes it, which is as a text.
type number64 = json.Number

// TakeLock implements Client. The answer to a request may be lost, and a driver of the same part may have been killed.
// So a Lock of the same part is replaced. The Lease in Kubernetes lets only one driver of a part write.
func (c *client) TakeLock(ctx context.Context, l Lock, lasts time.Duration) (id string, err error) {
	const op = "take the lock of parts"
	value, err := json.Marshal(l)
	if err != nil {
		return "", fmt.Errorf("%s: %w", op, err)
	}
	var granted struct {
		etcdHeader
		ID number64 `json:"ID"`
	}
	if _, err := c.etcd(ctx, op, "/lease/grant", map[string]int64{"TTL": int64(lasts.Seconds())}, &granted); err != nil {
		return "", err
	}
	id = granted.ID.String()
	there, err := c.putIf(ctx, op, id, value, map[string]any{"key": []byte(keyLock), "target": "CREATE", "result": "EQUAL", "create_revision": "0"})
	if err == nil && there != nil && lockOf(there).UID == l.UID {
		there, err = c.putIf(ctx, op, id, value, map[string]any{"key": []byte(keyLock), "target": "VALUE", "result": "EQUAL", "value": there})
	}
	switch {
	case err == nil && there == nil:
		return id, nil
	case err == nil:
		err = &LockedError{lockOf(there)}
	}
	return "", errors.Join(err, c.ReleaseLock(ctx, id))
}

// putIf writes the Lock where a condition holds. Else it returns the value that is there.
func (c *client) putIf(ctx context.Context, op, lease string, value []byte, condition map[string]any) (there []byte, err error) {
	var answer struct {
		etcdHeader
		Succeeded bool `json:"succeeded"`
		Responses []struct {
			Range struct {
				Entries []etcdEntry `json:"kvs"`
			} `json:"response_range"`
		} `json:"responses"`
	}
	_, err = c.etcd(ctx, op, "/kv/txn", map[string]any{
		"compare": []any{condition},
		"success": []any{map[string]any{"request_put": map[string]any{"key": []byte(keyLock), "value": value, "lease": lease}}},
		"failure": []any{map[string]any{"request_range": map[string]any{"key": []byte(keyLock)}}},
	}, &answer)
	switch {
	case err != nil || answer.Succeeded:
		return nil, err
	case len(answer.Responses) != 1 || len(answer.Responses[0].Range.Entries) != 1:
		return nil, fmt.Errorf("%s: another part has released the lock at the same moment", op)
	}
	return answer.Responses[0].Range.Entries[0].Value, nil
}

// RenewLock implements Client. The lease of etcd may live on after another process of the part has replaced the Lock. So
// the Lock itself is read as well.
func (c *client) RenewLock(ctx context.Context, id, nonce string) error {
	var answer renewal
	if _, err := c.etcd(ctx, "renew the lock of parts", "/lease/keepalive", map[string]string{"ID": id}, &answer); err != nil {
		return err
	}
	if left, err := answer.Result.TTL.Int64(); err != nil || left <= 0 {
		return ErrLockLost
	}
	l, err := c.Lock(ctx)
	if err == nil && (l == nil || l.Nonce != nonce) {
		err = ErrLockLost
	}
	return err
}

// renewal is the answer to a renewal, which etcd wraps as the first of a stream.
type renewal struct {
	Result struct {
		etcdHeader
		TTL number64 `json:"TTL"`
	} `json:"result"`
}

func (r *renewal) isEtcd() bool { return r.Result.isEtcd() }

// ReleaseLock implements Client.
func (c *client) ReleaseLock(ctx context.Context, id string) error {
	var answer struct{ etcdHeader }
	_, err := c.etcd(ctx, "release the lock of parts", "/lease/revoke", map[string]string{"ID": id}, &answer)
	if status, ok := errors.AsType[*StatusError](err); ok && status.Code == http.StatusNotFound {
		return nil // its time is over
	}
	return err
}

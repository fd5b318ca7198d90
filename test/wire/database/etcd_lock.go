package database

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"time"
)

// lock is the lock of parts in PD's etcd, with its lease. Only one client asks for it at a time.
type lock struct {
	value  []byte // nil for none
	lease  uint64
	ends   time.Time
	leases uint64 // how many were granted
}

// lockKey is the key of the lock.
const lockKey = "/kubectl-tidb/lock"

// held returns the lock, which ends with its lease.
func (d *Database) held() *lock {
	if l := &d.lock; l.value != nil && d.model.Now().After(l.ends) {
		l.value = nil
	}
	return &d.lock
}

// lasts is how long a lease lasts, as the plugin asks for.
const lasts = 90 * time.Second

// etcdLease answers about leases of etcd.
func (d *Database) etcdLease(w http.ResponseWriter, r *http.Request, id uint64) {
	var asked struct {
		ID uint64 `json:"ID,string"`
	}
	l, header := d.held(), d.etcdHeader(id)
	if r.URL.Path == "/v3/lease/grant" {
		l.leases++
		answer(w, http.StatusOK, object{"header": header, "ID": number(l.leases), "TTL": "90"})
		return
	}
	if !read(w, r, &asked) {
		return
	}
	has := l.value != nil && l.lease == asked.ID
	switch {
	case r.URL.Path == "/v3/lease/keepalive":
		result := object{"header": header, "ID": number(asked.ID)}
		if has {
			l.ends, result["TTL"] = d.model.Now().Add(lasts), "90"
		}
		answer(w, http.StatusOK, object{"result": result})
	case has:
		l.value = nil
		answer(w, http.StatusOK, object{"header": header})
	default:
		answer(w, http.StatusNotFound, object{"error": "etcdserver: requested lease not found", "code": 5})
	}
}

// etcdTxn writes the lock where there is none, or where it is the one that is named.
func (d *Database) etcdTxn(w http.ResponseWriter, r *http.Request, id uint64) {
	var asked struct {
		Compare []struct {
			Target string `json:"target"`
			Value  []byte `json:"value"`
		} `json:"compare"`
		Success []struct {
			Put struct {
				Value []byte `json:"value"`
				Lease uint64 `json:"lease,string"`
			} `json:"request_put"`
		} `json:"success"`
	}
	if !read(w, r, &asked) {
		return
	}
	l, out := d.held(), object{"header": d.etcdHeader(id)}
	if c := asked.Compare[0]; c.Target == "CREATE" && l.value != nil || c.Target == "VALUE" && !bytes.Equal(c.Value, l.value) {
		entry := object{"key": base64.StdEncoding.EncodeToString([]byte(lockKey)), "value": base64.StdEncoding.EncodeToString(l.value)}
		out["responses"] = []object{{"response_range": object{"kvs": []object{entry}}}}
		answer(w, http.StatusOK, out)
		return
	}
	put := asked.Success[0].Put
	l.value, l.lease, l.ends = put.Value, put.Lease, d.model.Now().Add(lasts)
	out["succeeded"] = true
	answer(w, http.StatusOK, out)
}

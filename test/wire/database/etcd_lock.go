package database

import (
	"bytes"
	"encoding/base64"
	"net/http"

	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// lockKey is the key of the lock.
const lockKey = "/kubectl-tidb/lock"

// etcdLease answers about leases of etcd.
func (d *Database) etcdLease(w http.ResponseWriter, r *http.Request, id uint64) {
	var asked struct {
		ID uint64 `json:"ID,string"`
	}
	l, header := d.model.PartLock(), d.etcdHeader(id)
	if r.URL.Path == "/v3/lease/grant" {
		d.leases++
		answer(w, http.StatusOK, object{"header": header, "ID": number(d.leases), "TTL": "90"})
		return
	}
	if !read(w, r, &asked) {
		return
	}
	has := l.Value != nil && l.Lease == asked.ID
	switch {
	case r.URL.Path == "/v3/lease/keepalive":
		result := object{"header": header, "ID": number(asked.ID)}
		if has {
			l.Ends, result["TTL"] = d.model.Now().Add(sim.PartLockLasts), "90"
		}
		answer(w, http.StatusOK, object{"result": result})
	case has:
		l.Value = nil
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
	l, out := d.model.PartLock(), object{"header": d.etcdHeader(id)}
	if c := asked.Compare[0]; c.Target == "CREATE" && l.Value != nil || c.Target == "VALUE" && !bytes.Equal(c.Value, l.Value) {
		entry := object{"key": base64.StdEncoding.EncodeToString([]byte(lockKey)), "value": base64.StdEncoding.EncodeToString(l.Value)}
		out["responses"] = []object{{"response_range": object{"kvs": []object{entry}}}}
		answer(w, http.StatusOK, out)
		return
	}
	put := asked.Success[0].Put
	l.Value, l.Lease, l.Ends = put.Value, put.Lease, d.model.Now().Add(sim.PartLockLasts)
	out["succeeded"] = true
	answer(w, http.StatusOK, out)
}

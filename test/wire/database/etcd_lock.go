package database

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"time"
)

// lockKey is the key of the lock.
const lockKey = "/kubectl-tidb/lock"

// etcdLease answers about leases of etcd.
func (d *Database) etcdLease(w http.ResponseWriter, r *http.Request, id uint64) {
	if r.URL.Path == "/v3/lease/grant" {
		d.etcdGrant(w, r, id)
		return
	}
	var asked struct {
		ID uint64 `json:"ID,string"`
	}
	if !read(w, r, &asked) {
		return
	}
	l, header := d.model.PartLock(), d.etcdHeader(id)
	has := l.Value != nil && l.Lease == asked.ID
	switch {
	case r.URL.Path == "/v3/lease/keepalive":
		result := object{"header": header, "ID": number(asked.ID)}
		if has {
			lasts := d.leases[asked.ID-1]
			l.Ends, result["TTL"] = d.model.Now().Add(lasts), number(uint64(lasts.Seconds()))
		}
		answer(w, http.StatusOK, object{"result": result})
	case has:
		l.Value = nil
		answer(w, http.StatusOK, object{"header": header})
	default:
		answer(w, http.StatusNotFound, object{"error": "etcdserver: requested lease not found", "code": 5})
	}
}

// etcdGrant grants a lease, which lasts as long as the client asks for.
func (d *Database) etcdGrant(w http.ResponseWriter, r *http.Request, id uint64) {
	var asked struct {
		TTL int64 `json:"TTL"`
	}
	if !read(w, r, &asked) {
		return
	}
	d.leases = append(d.leases, time.Duration(asked.TTL)*time.Second)
	answer(w, http.StatusOK, object{"header": d.etcdHeader(id), "ID": number(uint64(len(d.leases))), "TTL": number(uint64(asked.TTL))})
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
	l.Value, l.Lease, l.Ends = put.Value, put.Lease, d.model.Now().Add(d.leases[put.Lease-1])
	out["succeeded"] = true
	answer(w, http.StatusOK, out)
}

package database

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// The HTTP gateway of PD's etcd, which each member serves. It writes numbers of 64 bits as text, and leaves zeros out.

// etcd answers for the etcd of a member. serves is false for one that hears of no other.
func (d *Database) etcd(w http.ResponseWriter, r *http.Request, id uint64, serves bool) {
	leader := d.model.PDLeader()
	if !serves {
		leader = 0
	}
	if r.Method != http.MethodPost {
		text(w, http.StatusMethodNotAllowed, "Method Not Allowed")
		return
	}
	switch r.URL.Path {
	case "/v3/maintenance/status":
		applied := number(d.committed(id)) // a member has applied what it knows as committed
		status := object{
			"header": d.etcdHeader(id), "version": "3.4.31", "raftIndex": applied, "raftAppliedIndex": applied, "raftTerm": "2",
		}
		if leader == 0 {
			status["errors"] = []string{"etcdserver: no leader"}
		} else {
			status["leader"] = number(leader)
		}
		answer(w, http.StatusOK, status)
	case "/v3/cluster/member/list":
		answer(w, http.StatusOK, object{"header": d.etcdHeader(id), "members": d.etcdMembers()})
	case "/v3/kv/range", "/v3/kv/txn", "/v3/lease/grant", "/v3/lease/keepalive", "/v3/lease/revoke":
		if leader == 0 {
			answer(w, http.StatusServiceUnavailable, object{"error": "etcdserver: no leader", "message": "etcdserver: no leader", "code": 14})
			return
		}
		switch r.URL.Path {
		case "/v3/kv/range":
			d.etcdRange(w, r, id)
		case "/v3/kv/txn":
			d.etcdTxn(w, r, id)
		default:
			d.etcdLease(w, r, id)
		}
	default:
		text(w, http.StatusNotFound, "Not Found\n")
	}
}

// committed returns how far a member knows PD's log as committed.
func (d *Database) committed(id uint64) uint64 {
	for _, m := range d.pdMembers() {
		if m.ID == id {
			return m.Committed
		}
	}
	return 0
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

func (d *Database) etcdHeader(id uint64) object {
	return object{"cluster_id": number(cmp.Or(d.model.PDClusterID(), 1)), "member_id": number(id), "raft_term": "2"}
}

func (d *Database) etcdMembers() []object {
	all := []object{}
	for _, m := range d.pdMembers() {
		one := object{"ID": number(m.ID), "peerURLs": d.peerURLs(m)}
		if m.Name != "" {
			one["name"] = m.Name
		}
		if m.Started {
			one["clientURLs"] = d.clientURLs(m)
		}
		all = append(all, one)
	}
	return all
}

// etcdRange returns the entries from a key up to another one.
func (d *Database) etcdRange(w http.ResponseWriter, r *http.Request, id uint64) {
	var asked struct {
		From []byte `json:"key"`
		To   []byte `json:"range_end"`
	}
	if !read(w, r, &asked) {
		return
	}
	var found []object
	for _, e := range d.entries() {
		if e.key >= string(asked.From) && e.key < string(asked.To) {
			found = append(found, object{
				"key": base64.StdEncoding.EncodeToString([]byte(e.key)), "value": base64.StdEncoding.EncodeToString(e.value),
			})
		}
	}
	out := object{"header": d.etcdHeader(id)}
	if found != nil {
		out["kvs"], out["count"] = found, strconv.Itoa(len(found))
	}
	answer(w, http.StatusOK, out)
}

type entry struct {
	key   string
	value []byte
}

// entries are what Pumps, and people who have begun log backups, have written into PD's etcd.
func (d *Database) entries() []entry {
	var all []entry
	for _, p := range d.model.RegisteredPumps() {
		node := d.pumpNode(p.Ordinal)
		value, _ := json.Marshal(object{
			"nodeId": node, "host": fmt.Sprintf("%s:%d", d.cluster.PodHost(topology.Pump, p.Ordinal), topology.PumpPort),
			"state": string(p.State), "isAlive": false, "score": 0, "label": nil, "maxCommitTS": timestamp(p), "updateTS": timestamp(p),
		})
		all = append(all, entry{"/tidb-binlog/v1/pumps/" + node, value})
	}
	for _, task := range d.LogBackups {
		all = append(all, entry{"/tidb/br-stream/info/" + task, []byte("\n" + string(rune(len(task))) + task)})
	}
	if l := d.model.PartLock(); l.Value != nil {
		all = append(all, entry{lockKey, l.Value})
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	return all
}

// pumpNode returns the id of a Pump.
func (d *Database) pumpNode(ordinal int) string {
	return fmt.Sprintf("%s:%d", d.cluster.PodName(topology.Pump, ordinal), topology.PumpPort)
}

// timestamp is a time in the form of PD: milliseconds, and 18 bits for a count.
func timestamp(p sim.Pump) int64 { return p.Updated.UnixMilli() << 18 }

package database

import (
	"net/http"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// asMember returns a member as PD lists its members.
func (d *Database) asMember(m sim.PDMember) object {
	out := object{"member_id": m.ID, "peer_urls": d.peerURLs(m)}
	if m.Name != "" {
		out["name"] = m.Name
	}
	if m.Started {
		out["client_urls"] = d.clientURLs(m)
		out["deploy_path"], out["binary_version"], out["git_hash"] = "/", d.contained(m.Release), "None"
	}
	return out
}

// pdMembers returns the members of PD as PD lists these members.
func (d *Database) pdMembers() []sim.PDMember {
	all := d.model.PDMembers()
	for i, m := range all {
		if name, ok := d.PDNames[m.Ordinal]; ok && m.Name != "" {
			all[i].Name = name
		}
	}
	return all
}

// member returns PD's member with an id.
func (d *Database) member(id uint64) (sim.PDMember, bool) {
	for _, m := range d.pdMembers() {
		if m.ID == id {
			return m, true
		}
	}
	return sim.PDMember{}, false
}

func (d *Database) getLeader(w http.ResponseWriter, _ *http.Request) {
	m, _ := d.member(d.model.PDLeader())
	answer(w, http.StatusOK, object{
		"name": m.Name, "member_id": m.ID, "peer_urls": d.peerURLs(m), "client_urls": d.clientURLs(m),
	})
}

// transferLeader answers before the new leader serves, as PD does.
func (d *Database) transferLeader(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	for ordinal, called := range d.PDNames {
		if called == name {
			name = d.cluster.PodName(topology.PD, ordinal)
		}
	}
	if !d.model.MovePDLeader(name) {
		answer(w, http.StatusInternalServerError, "no valid pd to transfer etcd leader")
		return
	}
	answer(w, http.StatusOK, "The transfer command is submitted.")
}

func (d *Database) getMembers(w http.ResponseWriter, _ *http.Request) {
	var all []object
	for _, m := range d.pdMembers() {
		all = append(all, d.asMember(m))
	}
	leader := object{}
	if m, ok := d.member(d.model.PDLeader()); ok {
		leader = d.asMember(m)
	}
	answer(w, http.StatusOK, object{
		"header": object{"cluster_id": d.model.PDClusterID()}, "members": all, "leader": leader, "etcd_leader": leader,
	})
}

func (d *Database) deleteMember(w http.ResponseWriter, r *http.Request) {
	id, ok := idOf(w, r)
	if !ok {
		return
	}
	m, _ := d.member(id)
	if err := d.model.RemovePDMember(id); err != nil {
		answer(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, http.StatusOK, "removed, pd: "+m.Name)
}

func (d *Database) getHealth(w http.ResponseWriter, _ *http.Request) {
	all := []object{}
	for _, m := range d.pdMembers() {
		all = append(all, object{"name": m.Name, "member_id": m.ID, "client_urls": d.clientURLs(m), "health": m.Pinged})
	}
	answer(w, http.StatusOK, all)
}

func (d *Database) getVersion(w http.ResponseWriter, _ *http.Request) {
	m, _ := d.member(d.model.PDLeader())
	answer(w, http.StatusOK, object{"version": d.contained(m.Release)})
}

func (d *Database) getCluster(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, object{"id": d.model.PDClusterID(), "max_peer_count": d.model.MaxCopy})
}

func (d *Database) getClusterStatus(w http.ResponseWriter, _ *http.Request) {
	at, all := time.Time{}, false
	if stores, _ := d.model.Stores(); len(stores) > 0 {
		at, all = stores[0].Started, true
	}
	answer(w, http.StatusOK, object{"raft_bootstrap_time": at, "is_initialized": all, "replication_status": ""})
}

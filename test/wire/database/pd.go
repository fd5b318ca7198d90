package database

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// PD's leader answers most requests, because the other members forward requests to the leader. Each member answers
// requests about itself.

// What PD and its etcd answer, as the clients of both classify the answers.
const (
	notStarted      = "[PD:server:ErrServerNotStarted]server not started"
	noLeader        = "no leader"
	redirectFailed  = "[PD:apiutil:ErrRedirect]redirect failed"
	notBootstrapped = "[PD:cluster:ErrNotBootstrapped]TiKV cluster not bootstrapped, please start TiKV first"
)

// allowFollower is the header by which a member is asked itself.
const allowFollower = "PD-Allow-Follower-Handle"

// otherCluster is the domain of the hosts in another Kubernetes cluster.
const otherCluster = "pd.other.svc"

// memberAt returns the id of the member of an ordinal, 0 for a process that is none.
func (d *Database) memberAt(ordinal int) uint64 {
	for _, m := range d.pdMembers() {
		if m.Ordinal == ordinal {
			return m.ID
		}
	}
	return 0
}

// voter answers for a member with an id.
func (d *Database) voter(id uint64, ordinal int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leader := d.model.PDLeader()
		serves := ordinal < 0 || d.model.PortOf(topology.PD, ordinal) == sim.PortServing
		d.date(w, topology.PD, ordinal)
		switch {
		case strings.HasPrefix(r.URL.Path, "/v3"):
			d.etcd(w, r, id, serves)
		case !serves:
			text(w, http.StatusInternalServerError, notStarted)
		case r.URL.Path == "/pd/api/v1/ping":
			w.WriteHeader(http.StatusOK)
		case r.URL.Path == "/metrics":
			d.metrics(w, id != 0 && id == leader)
		case leader == 0 && r.URL.Path == "/pd/api/v1/leader":
			text(w, http.StatusServiceUnavailable, noLeader)
		case leader == 0:
			text(w, http.StatusInternalServerError, redirectFailed)
		default:
			if r.Header.Get(allowFollower) == "" {
				d.date(w, topology.PD, d.ordinalOfMember(leader))
			}
			d.route(topology.PD, w, r)
		}
	})
}

// ordinalOfMember returns the ordinal of a member of PD, -1 for one in another Kubernetes cluster.
func (d *Database) ordinalOfMember(id uint64) int {
	all := d.pdMembers()
	if i := slices.IndexFunc(all, func(m sim.PDMember) bool { return m.ID == id }); i >= 0 {
		return all[i].Ordinal
	}
	return -1
}

// leaderRoutes are what PD's leader answers.
func (d *Database) leaderRoutes() routes {
	mux := http.NewServeMux()
	for route, by := range map[string]http.HandlerFunc{
		"GET /leader":                  d.getLeader,
		"POST /leader/transfer/{name}": d.transferLeader,
		"GET /members":                 d.getMembers,
		"DELETE /members/id/{id}":      d.deleteMember,
		"GET /health":                  d.getHealth,
		"GET /version":                 d.getVersion,
		"GET /cluster":                 d.getCluster,
		"GET /cluster/status":          d.getClusterStatus,

		"GET /stores":            d.getStores,
		"GET /regions/count":     d.bootstrapped(d.getRegionCount),
		"GET /store/{id}":        d.ofStore(d.getStore),
		"DELETE /store/{id}":     d.ofStore(d.deleteStore),
		"POST /store/{id}/state": d.ofStore(d.setStoreState),
		"POST /store/{id}/label": d.ofStore(d.setStoreLabels),

		"GET /schedulers":           d.bootstrapped(d.getSchedulers),
		"POST /schedulers":          d.bootstrapped(d.addScheduler),
		"DELETE /schedulers/{name}": d.bootstrapped(d.removeScheduler),
		"GET /scheduler-config/evict-leader-scheduler/list":    d.bootstrapped(d.getEviction),
		"POST /scheduler-config/evict-leader-scheduler/config": d.bootstrapped(d.setEviction),

		"GET /config":                    d.getConfig,
		"POST /config":                   d.setConfig,
		"GET /config/cluster-version":    d.getClusterVersion,
		"GET /config/schedule":           d.getSchedule,
		"GET /config/replicate":          d.getReplicate,
		"POST /config/replicate":         d.setReplicate,
		"GET /config/placement-rule":     d.bootstrapped(d.getRules),
		"GET /config/region-label/rules": d.bootstrapped(d.getRegionLabels),
	} {
		method, path, _ := strings.Cut(route, " ")
		mux.HandleFunc(method+" /pd/api/v1"+path, by)
	}
	return mux
}

// bootstrapped answers with an error until PD has its first store.
func (d *Database) bootstrapped(then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if all, _ := d.model.Stores(); len(all) == 0 {
			answer(w, http.StatusInternalServerError, notBootstrapped)
			return
		}
		then(w, r)
	}
}

// pdHost returns the host of a member of PD.
func (d *Database) pdHost(m sim.PDMember) string {
	if m.Ordinal < 0 {
		return m.Name + "." + otherCluster
	}
	return cmp.Or(d.PDHosts[m.Ordinal], d.cluster.PodHost(topology.PD, m.Ordinal))
}

func (d *Database) peerURLs(m sim.PDMember) []string {
	return []string{fmt.Sprintf("%s://%s:%d", d.cluster.Scheme(), d.pdHost(m), topology.PDPeerPort)}
}

// clientURLs are none before the member has started.
func (d *Database) clientURLs(m sim.PDMember) []string {
	if !m.Started {
		return nil
	}
	return []string{fmt.Sprintf("%s://%s:%d", d.cluster.Scheme(), d.pdHost(m), topology.PDClientPort)}
}

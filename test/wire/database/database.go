// Package database serves the HTTP ports of PD, TiKV, TiFlash, TiDB, TiProxy, TiCDC and Pump over a simulated cluster.
//
// The truth is in the model: a process that runs answers for itself, whatever PD or Kubernetes report of it. A handler
// says in HTTP what the model knows, with the codes and texts of the real component. It changes the model as a request
// asks. Nothing is served on the SQL port of TiDB, and on the port of TiKV for gRPC only what flushes log backups.
package database

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tiflash"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tikv"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tiproxy"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// Database is the members of a model as HTTP servers. The handlers are used by one goroutine at a time, as the model
// is.
type Database struct {
	model   *sim.Model
	cluster topology.Cluster
	// labels are those of stores that somebody has written into PD: the model keeps none.
	labels map[uint64]map[string]string
	// Contents are the releases that images contain, by the releases that their tags say; without those that are the
	// same.
	Contents map[string]string
	// PDNames are names of PD's members, by ordinals, where a member has another name than its pod. PDHosts are the
	// hosts in their URLs, where a member has announced the host of no pod.
	PDNames, PDHosts map[int]string
	// EmptyDrains: TiCDC answers that a capture has no tables left, and moves none.
	EmptyDrains bool
	// TransfersPaused: PD's leader refuses evict-leader schedulers, since by its memory leaders are kept off each store
	// already.
	TransfersPaused bool
	// LogBackups are the tasks of log backup (point-in-time recovery). FlushFails says why no store flushes them; ""
	// where stores do.
	LogBackups []string
	FlushFails string
	routes     map[topology.Kind]routes
	leases     []time.Duration // how long each lease of etcd lasts that was granted, by its id less 1

	unserved []string
}

// routes are the handlers of a component, by method and path. The member that is asked is in the context.
type routes = *http.ServeMux

// New returns the members of a model as HTTP servers.
func New(m *sim.Model) *Database {
	d := &Database{
		model: m, cluster: topology.Cluster{Namespace: "db", Name: "basic", Instance: "basic"}, labels: map[uint64]map[string]string{},
	}
	d.routes = map[topology.Kind]routes{
		topology.PD: d.leaderRoutes(), topology.TiKV: d.tikvRoutes(), topology.TiFlash: d.tiflashRoutes(),
		topology.TiDB: d.tidbRoutes(), topology.TiProxy: d.tiproxyRoutes(), topology.TiCDC: d.ticdcRoutes(),
		topology.Pump: d.pumpRoutes(),
	}
	return d
}

// SpeakTLS has members name each other by https.
func (d *Database) SpeakTLS() { d.cluster.TLS.Members = true }

// contained returns the release that a process reports whose image has a tag.
func (d *Database) contained(tag string) string { return cmp.Or(d.Contents[tag], tag) }

// Reach is what a connection to a port of a member meets.
type Reach int

// What a connection meets.
const (
	// Open: a process listens.
	Open Reach = iota
	// Refused: the pod has an address, and nothing listens on the port.
	Refused
	// Silent: nothing comes back, as from a host that is lost, or through a tunnel that is cut.
	Silent
	// Nowhere: there is no pod with an address.
	Nowhere
)

// ports are those that are served.
var ports = map[topology.Kind]int{
	topology.PD: topology.PDClientPort, topology.TiKV: tikv.StatusPort, topology.TiFlash: tiflash.StatusPort,
	topology.TiDB: tidb.StatusPort, topology.TiProxy: tiproxy.StatusPort, topology.TiCDC: topology.TiCDCPort,
	topology.Pump: topology.PumpPort,
}

// Port says what a connection to a port of a member meets.
func (d *Database) Port(k topology.Kind, ordinal, port int) Reach {
	switch is := d.model.PortOf(k, ordinal); {
	case is == sim.PortNowhere:
		return Nowhere
	case is == sim.PortSilent:
		return Silent
	case is == sim.PortRefused, port != ports[k] && !flushes(k, port):
		return Refused
	}
	return Open
}

// Handler answers for the process of a member on one of its ports, where Port says Open. A process that has ended since
// ends the connection without an answer.
func (d *Database) Handler(k topology.Kind, ordinal, port int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.Port(k, ordinal, port) != Open {
			panic(http.ErrAbortHandler)
		}
		if k == topology.PD {
			d.voter(d.memberAt(ordinal), ordinal).ServeHTTP(w, r)
			return
		}
		if flushes(k, port) {
			d.flush(w, r)
			return
		}
		d.date(w, k, ordinal)
		d.route(k, w, r.WithContext(withOrdinal(r.Context(), ordinal)))
	})
}

// route answers as a component does, and notes what nothing answers here.
func (d *Database) route(k topology.Kind, w http.ResponseWriter, r *http.Request) {
	if _, pattern := d.routes[k].Handler(r); pattern == "" {
		d.unserved = append(d.unserved, fmt.Sprintf("%s: %s %s", k, r.Method, r.URL.Path))
	}
	d.routes[k].ServeHTTP(w, r)
}

// Unserved returns requests that nothing answers here, so that they were answered with 404.
func (d *Database) Unserved() []string { return d.unserved }

// Elsewhere returns the member of PD in another Kubernetes cluster with an address. It returns false where there is
// none or where it does not answer. Nothing is known of the member's other ports.
func (d *Database) Elsewhere(host string) (http.Handler, bool) {
	name, rest, _ := strings.Cut(host, ".")
	if rest != otherCluster {
		return nil, false
	}
	for _, m := range d.model.PDMembers() {
		if m.Ordinal < 0 && m.Name == name {
			return d.voter(m.ID, -1), m.Alive && !d.model.PDSilent()
		}
	}
	return nil, false
}

// date sets when an answer was given by the clock of the host that gives it.
func (d *Database) date(w http.ResponseWriter, k topology.Kind, ordinal int) {
	at := d.model.Now().Add(d.model.ClockOf(k, ordinal))
	w.Header().Set("Date", at.UTC().Truncate(time.Second).Format(http.TimeFormat))
}

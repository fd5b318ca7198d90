// Package database serves the HTTP ports of PD, TiKV, TiFlash, TiDB, TiProxy, TiCDC and Pump over a simulated cluster.
//
// The truth is in the model: a process that runs answers for itself, whatever PD reports of it. A handler only says in
// HTTP what the model knows, and changes the model as the request asks. It reads no clock and keeps nothing itself.
package database

import (
	"net/http"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/sim"
)

// Database is the members of a model as HTTP servers.
type Database struct {
	model *sim.Model
}

// New returns the members of a model as HTTP servers.
func New(m *sim.Model) *Database { return &Database{model: m} }

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
)

// Port says what a connection to a port of a member meets.
func (d *Database) Port(topology.Kind, int, int) Reach { return Silent }

// Handler answers for the process of a member on one of its ports, where Port says Open.
func (d *Database) Handler(topology.Kind, int, int) http.Handler { return http.NotFoundHandler() }

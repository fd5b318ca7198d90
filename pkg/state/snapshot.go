// Package state says what was observed: one Snapshot, taken at one moment, of
// everything that a decision may look at.
//
// It is pure. Package observe fills a Snapshot from Kubernetes, PD and the
// components; package plan reads it. What could not be read is recorded as
// unknown and never as absent, because "PD did not answer" must not be taken
// for "PD does not know this store, so its data may go".
package state

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Snapshot is one observation of a whole cluster.
type Snapshot struct {
	At     time.Time
	Groups map[topology.Kind]Group
	PD     PD
	// Evictions are the evict-leader schedulers that we made, as the ledger in
	// the cluster records them: before PD was asked, so one may not exist yet.
	Evictions []Eviction
	// Removals are the removals of stores that we began, as the ledger records
	// them before PD is asked. A store that is Offline without such a record was
	// taken offline by somebody else, and stays so.
	Removals []Removal
	// Templates are the pod templates that were applied last, as the ledger records
	// them before they are written.
	Templates map[topology.Kind]Template
	// Nodes are the labels of nodes that stores run on, by the node's name. One
	// that is missing is unknown.
	Nodes map[string]map[string]string
	// Gaps are what could not be read and nothing waits for.
	Gaps []Gap
}

// Group is what was observed of one component.
type Group struct {
	Set     Set
	Members []Member // by ordinal, without gaps, starting with 0
}

// PD is what PD says of the cluster as a whole.
type PD struct {
	// Problem says why PD could not be asked, in a user's words; empty when
	// it could. With a problem, every other field is unknown.
	Problem string
	// Leaderless goes with a Problem: members of PD were reached and say that
	// none leads, for longer than an election takes. It is not set when nobody
	// was reached, since then PD may well serve others.
	Leaderless bool
	// ClusterID is known once PD has bootstrapped, and also from our own
	// record when PD does not answer.
	ClusterID uint64
	// Members and Healthy count all voters of PD's etcd, also those that run
	// in other Kubernetes clusters.
	Members, Healthy int
	Leader           string // name of the leader, "" while there is none
	// LeaderSince is since when this process has seen the present leader lead. A
	// new leader knows heartbeats of stores only as they were last saved, up to
	// five minutes ago, so what it says of a store that does not send heartbeats
	// is nothing that is known.
	LeaderSince time.Time
	// Stores and UpStores count TiKV stores, also those of other Kubernetes
	// clusters. Tombstones do not count.
	Stores, UpStores int
	MaxReplicas      int // replication.max-replicas
	// LocationLabels are the labels of stores that PD spreads replicas by, the
	// widest first (replication.location-labels).
	LocationLabels []string
	// Placement is what the removal of a store is checked against.
	Placement Placement
	// MaxStoreDown is how long a store may be silent before PD calls it Down and
	// makes new copies of its regions (schedule.max-store-down-time); zero while
	// all stores are Up and nobody asked.
	MaxStoreDown time.Duration
	// SchedulersUnknown: PD answers, but has not loaded its schedulers yet. What it
	// says of them then is not true, so that Database.Evicting is unknown of every
	// store, and no scheduler can be made or removed.
	SchedulersUnknown bool
	// Bootstrapped: a first store has joined, PD can speak of stores.
	Bootstrapped bool
}

// Known tells whether PD answered.
func (p PD) Known() bool { return p.Problem == "" }

// Quorum is the number of members that must be healthy for PD to serve.
func (p PD) Quorum() int { return p.Members/2 + 1 }

// Serving tells whether PD can be relied on now: it answered, most of its
// members are healthy and one of them leads.
func (p PD) Serving() bool {
	return p.Known() && p.Healthy >= p.Quorum() && p.Leader != ""
}

// Record names a kind of record in the ledger.
type Record string

// The records are of what we did in PD and have to take back, or to see to its end.
const (
	RecordEviction Record = "evict-leader"
	RecordRemoval  Record = "remove-store"
)

// Eviction is a record of an evict-leader scheduler that we made.
type Eviction struct {
	StoreID uint64
	Member  string // the pod's name
	Since   time.Time
	// Foreign: somebody else made the scheduler before us, and it stays.
	Foreign bool
	// Leaders is how many there were to move when it began; 0 when nobody knew.
	Leaders int
	// Ended is when the scheduler was removed again after the store's restart;
	// zero as long as it is not. The record then only waits for the leaders to
	// come back.
	Ended time.Time
}

// Removal is a record of a store's removal that we began.
type Removal struct {
	StoreID uint64
	Member  string // the pod's name
	Since   time.Time
}

// Template is a record of a pod template of ours.
type Template struct {
	// Version is the render.TemplateVersion of who rendered it; zero is no record.
	Version int
	// Spec is the topology.Group.Asked that it was rendered for.
	Spec string
	// Pods is a digest of the pod template. A StatefulSet with another one was written
	// by somebody else, or by one of us who was killed before: the record is not of it.
	Pods string
}

// Removal finds our record for a store.
func (s Snapshot) Removal(storeID uint64) (Removal, bool) {
	for _, r := range s.Removals {
		if r.StoreID == storeID {
			return r, true
		}
	}
	return Removal{}, false
}

// Eviction finds our record for a store.
func (s Snapshot) Eviction(storeID uint64) (Eviction, bool) {
	for _, e := range s.Evictions {
		if e.StoreID == storeID {
			return e, true
		}
	}
	return Eviction{}, false
}

// Package state has what was observed: one Snapshot, taken at one moment, of everything that a
// decision may depend on.
//
// It is pure. Package observe fills a Snapshot from Kubernetes, PD and the components; package plan reads it.
// What could not be read is recorded as unknown and never as absent. The reason is that "PD did not answer"
// must not be taken for "PD does not know this store, so its data may go".
package state

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Snapshot is one observation of a whole cluster.
type Snapshot struct {
	At     time.Time
	Groups map[topology.Kind]Group
	PD     PD
	// Evictions are the records of evict-leader schedulers that we made. A record is written before
	// PD is asked, so the scheduler may not exist yet.
	Evictions []Eviction
	// Removals are the records of removals of stores that we began, written before PD is asked. A
	// store that is Offline without such a record was taken offline by another user or tool, and
	// stays so.
	Removals []Removal
	// Drains are the records of captures of TiCDC whose tables we have moved away.
	Drains []Drain
	// RulesEnabled is when we enabled PD's placement rules for TiFlash, zero if we never did.
	RulesEnabled time.Time
	// Templates are the records of the pod templates that were applied last, written before the
	// templates.
	Templates map[topology.Kind]Template
	// Nodes are the labels of nodes that stores run on, by the node's name. A missing node is
	// unknown.
	Nodes map[string]map[string]string
	// Certificates are the Secrets with certificates, by name; empty for a cluster without TLS.
	Certificates map[string]certificate.Secret
	// OtherParts are the parts that use the PD here, where PD is to be suspended.
	OtherParts OtherParts
	// Gaps are things that could not be read and that nothing waits for.
	Gaps []Gap
}

// Group is what was observed of one component.
type Group struct {
	Set     Set
	Members []Member // the lowest ordinal first
}

// PD is what PD says about the cluster as a whole.
type PD struct {
	// Problem says why PD could not be asked, in a user's words; empty when
	// it could. With a problem, every other field is unknown.
	Problem string
	// Leaderless is true if PD has been without a leader for longer than an election takes. Voters that can
	// know it say so, see Voters.Leaderless. Problem is set too. Leaderless is false where members that may be
	// a quorum were not reached, because PD may then serve others.
	Leaderless bool
	// Electing is true while voters say that they follow no leader, or that there is none, for no longer than an
	// election takes. Problem is set too.
	Electing bool
	// Unreached are the members, as Voter.Name has them, that cannot be asked from here and may serve everybody
	// else. It is the leader that other members name, or so many members that they may be a quorum. Problem is
	// set too.
	Unreached []string
	// Unled are the members, as Voter.Name has them, that have followed no leader for longer than an election
	// takes. They have said so themselves, while no leader answers. They are in no quorum, even where other
	// members are.
	Unled []string
	// Committed is the last entry of PD's log that a member knows as committed, while none confirms that it leads.
	Committed uint64
	// ClusterID is known once PD has bootstrapped, and also from our own
	// record when PD does not answer.
	ClusterID uint64
	// Members and Healthy count all voters of PD's etcd, also those that run
	// in other Kubernetes clusters.
	Members, Healthy int
	Leader           string // name of the leader, "" while there is none
	// LeaderSince is since when this process has observed the current leader. A new leader knows heartbeats of
	// stores only as they were last saved, up to five minutes ago. So what the leader says about a store
	// without heartbeats is no evidence.
	LeaderSince time.Time
	// Stores and UpStores count TiKV stores, also those of other Kubernetes
	// clusters. Tombstones do not count.
	Stores, UpStores int
	// Elsewhere are the stores that are no members of this TidbCluster, and that PD does not call Up.
	Elsewhere []StoreElsewhere
	// OtherStores and OtherVoters are all stores, and all members of PD, that are no members of this TidbCluster.
	OtherStores []OtherStore
	OtherVoters []OtherVoter
	// Shared: the database has other parts, which other drivers may change. PD lists members or stores that are no
	// members of this TidbCluster, or this TidbCluster is a part.
	Shared bool
	// OldestElsewhere is the lowest version of the members of PD in other parts, "" for none. A part must not run a version
	// that PD does not have yet.
	OldestElsewhere string
	// LockedBy says which other part takes members away now, and who drives that part. It is "" for none.
	LockedBy    string
	MaxReplicas int // replication.max-replicas
	// LocationLabels are the labels of stores that PD spreads replicas by, the
	// widest first (replication.location-labels).
	LocationLabels []string
	// IsolationLevel is the location label in which any two copies must differ (replication.isolation-level).
	// It is "" where PD only prefers that copies differ.
	IsolationLevel string
	// RulesDisabled is true if PD does not place copies by its placement rules. PD then refuses stores of
	// TiFlash, and does not disable its rules while TiFlash has a store.
	RulesDisabled bool
	// Placement is what the removal of a store is checked against.
	Placement Placement
	// Isolation is where the copies of regions are. It is read only for a run that restarts stores together.
	Isolation Isolation
	// MaxStoreDown is after how long without a heartbeat PD calls a store Down (schedule.max-store-down-time).
	// PD then makes new copies of its regions. MaxStoreDown is zero where it was not read, because all stores
	// are Up.
	MaxStoreDown time.Duration
	// SchedulersUnknown is true if PD answers, but has not loaded its schedulers yet. What it says
	// about them then is wrong, so that Database.Evicting is unknown for every store, and no
	// scheduler can be made or removed.
	SchedulersUnknown bool
	// Scheduling is what keeps PD from moving leaders or regions.
	Scheduling Scheduling
	// OtherPumps is how many Pumps are online that are no members here, such as Pumps in another Kubernetes
	// cluster. PumpsKnown is whether Pumps were read.
	OtherPumps int
	PumpsKnown bool
	// Bootstrapped is true if a first store has joined, so that PD can list stores.
	Bootstrapped bool
}

// Known reports whether PD answered.
func (p PD) Known() bool { return p.Problem == "" }

// Quorum returns the number of members that must be healthy for PD to serve.
func (p PD) Quorum() int { return p.Members/2 + 1 }

// QuorumWithout reports whether PD keeps a quorum while some of its healthy members are down.
func (p PD) QuorumWithout(healthy int) bool { return p.Healthy-healthy >= p.Quorum() }

// QuorumAfterRemoval reports whether PD has a quorum with one member less, of which so many are healthy.
func (p PD) QuorumAfterRemoval(healthy int) bool { return healthy >= (p.Members-1)/2+1 }

// MoreVoters returns the next larger number of members of PD that is worth having. An even number can lose no
// more members than one less could.
func MoreVoters(members int) int { return max(members+1, 3) | 1 }

// Serving reports whether PD serves now: it answered, most members are healthy, and there is a leader.
func (p PD) Serving() bool {
	return p.Known() && p.Healthy >= p.Quorum() && p.Leader != ""
}

// Record names a kind of record in the ledger.
type Record string

// The records are about what we did in PD and have to take back, or to complete.
const (
	RecordEviction Record = "evict-leader"
	RecordRemoval  Record = "remove-store"
)

// Eviction is a record of an evict-leader scheduler that we made.
type Eviction struct {
	StoreID uint64
	Member  string // the pod's name
	Since   time.Time
	// Foreign is true if the scheduler existed before ours, so that it stays.
	Foreign bool
	// Leaders is how many region leaders the store had when the eviction began; 0 when that was
	// unknown.
	Leaders int
	// Ended is when the scheduler was removed after the store's restart; zero before that. The
	// record then stays until the leaders are back.
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
	// Version is the render.TemplateVersion of the program that rendered it; zero for no record.
	Version int
	// Spec is the topology.Group.Asked that it was rendered for.
	Spec string
	// Pods is a digest of the pod template. The record is not valid for a StatefulSet with another template.
	// Another program wrote that template, or a process of ours was killed after the record and before the
	// StatefulSet.
	Pods string
}

// WrittenByNewer reports whether a newer version of this program has written the pod template that was applied
// last. It asks for the digest of that template only where the version is newer. To make a digest is a tenth of
// all that a turn of the daemon allocates.
func (r Template) WrittenByNewer(version int, applied func() string) bool {
	return r.Version > version && r.Pods == applied()
}

// Removal returns our record for a store.
func (s Snapshot) Removal(storeID uint64) (Removal, bool) {
	for _, r := range s.Removals {
		if r.StoreID == storeID {
			return r, true
		}
	}
	return Removal{}, false
}

// OpenEviction returns our record for a store, and reports whether there is one that has not ended.
func (s Snapshot) OpenEviction(storeID uint64) (Eviction, bool) {
	e, ours := s.Eviction(storeID)
	return e, ours && e.Ended.IsZero()
}

// Eviction returns our record for a store.
func (s Snapshot) Eviction(storeID uint64) (Eviction, bool) {
	for _, e := range s.Evictions {
		if e.StoreID == storeID {
			return e, true
		}
	}
	return Eviction{}, false
}

// StoreOwner returns the member that a store belongs to.
func (s Snapshot) StoreOwner(storeID uint64) (Member, bool) {
	for _, g := range s.Groups {
		for _, m := range g.Members {
			if m.Database.ID == storeID && storeID != 0 {
				return m, true
			}
		}
	}
	return Member{}, false
}

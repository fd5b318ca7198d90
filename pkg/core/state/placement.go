package state

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Placement is what PD's placement rules ask for, and the stores that exist. It is empty unless a
// store is to be removed: nothing else needs it.
type Placement struct {
	// Stores are all stores that are no tombstones, TiFlash and those of other
	// Kubernetes clusters among them.
	Stores []Store
	// Rules has one list for each set of rules that applies to some range of keys. All rules of a
	// list ask for copies of the same regions, each on another store. It is empty where the rules
	// could not be read.
	Rules [][]PlacementRule
	// Unread says why the rules are unknown: PD does not answer, or nothing has needed them. It is "" where PD has
	// answered. No removal begins while the rules are unknown.
	Unread string
}

// Store is a store as PD lists it, of this cluster or another.
type Store struct {
	ID     uint64
	State  StoreState
	Labels map[string]string
	// Capacity is the size of the store's disk, and Available what is free of it. With a Capacity of 0 both are unknown.
	Capacity, Available topology.Size
	Regions             int
}

// Stores returns members as the stores that PD has.
func Stores(members []Member) []Store {
	var all []Store
	for _, m := range members {
		all = append(all, m.Store())
	}
	return all
}

// Store returns a member as the store that PD has.
func (m Member) Store() Store {
	d := m.Database
	return Store{ID: d.ID, State: d.State, Labels: m.StoreLabels, Capacity: d.Capacity, Available: d.Available, Regions: d.Regions}
}

// PlacementRule asks for a number of copies of each region on stores with some
// labels.
type PlacementRule struct {
	Group, ID   string
	Role        string // voter, leader, follower or learner
	Count       int
	Constraints []LabelConstraint
	// LocationLabels are the labels that say where a store is, the widest first.
	LocationLabels []string
	// IsolationLevel is the location label in which any two copies must differ; ""
	// when PD only prefers that they do.
	IsolationLevel string
	// Tables are the tables that ask for the rule where it is for replicas in TiFlash.
	Tables []Table
	// Configured is true if the rule follows PD's replication settings (max-replicas,
	// location-labels, isolation-level): to change the rule, change these.
	Configured bool
}

// Table is a table of the database. Its name is "" where TiDB was not asked, or does not know it.
type Table struct {
	ID   int64
	Name string
}

func (t Table) String() string {
	if t.Name == "" {
		return fmt.Sprintf("the table with the id %d", t.ID)
	}
	return "table " + t.Name
}

// LabelConstraint is a condition of a rule on a label of a store. Op is in, notIn, exists or
// notExists.
type LabelConstraint struct {
	Key, Op string
	Values  []string
}

// Store returns a store by its id.
func (p Placement) Store(id uint64) (Store, bool) {
	for _, s := range p.Stores {
		if s.ID == id {
			return s, true
		}
	}
	return Store{}, false
}

// Name returns the name of a rule in PD: its group and its id.
func (r PlacementRule) Name() string { return r.Group + "/" + r.ID }

package state

// Placement is what PD's placement rules ask for, and the stores that there are for
// it. It is empty where nobody needed it: only the removal of a store does.
type Placement struct {
	// Stores are all stores that are no tombstones, TiFlash and those of other
	// Kubernetes clusters among them.
	Stores []Store
	// Rules has one list for each set of rules that applies to some range of keys:
	// all rules of a list ask for copies of the same regions, each on another store.
	// It is empty where the rules could not be read.
	Rules [][]PlacementRule
	// Unread is why the rules are not known as long as PD has not answered; "" where it
	// has, or where nobody needs them. No removal begins meanwhile.
	Unread string
}

// Store is a store as PD lists it, whoever runs it.
type Store struct {
	ID     uint64
	State  StoreState
	Labels map[string]string
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
	// Configured: the rule follows PD's replication settings (max-replicas,
	// location-labels, isolation-level), and is changed by them.
	Configured bool
}

// LabelConstraint is what a rule asks of a label of a store. Op is in, notIn,
// exists or notExists.
type LabelConstraint struct {
	Key, Op string
	Values  []string
}

// Store finds a store by its id.
func (p Placement) Store(id uint64) (Store, bool) {
	for _, s := range p.Stores {
		if s.ID == id {
			return s, true
		}
	}
	return Store{}, false
}

// Name is what a rule is called in PD: its group and its id.
func (r PlacementRule) Name() string { return r.Group + "/" + r.ID }

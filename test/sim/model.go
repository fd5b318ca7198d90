package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// kind indexes the components in dependency order.
type kind int

const (
	pd kind = iota
	tikv
	tiflash
	pump
	tidb
	tiproxy
	ticdc
	components = iota // how many there are
)

var kinds = [components]topology.Kind{pd: topology.PD, tikv: topology.TiKV, tiflash: topology.TiFlash, pump: topology.Pump, tidb: topology.TiDB, tiproxy: topology.TiProxy, ticdc: topology.TiCDC}

// rollouts are the components in the order in which their pods are replaced.
var rollouts = [components]kind{pd, tiproxy, tiflash, tikv, pump, tidb, ticdc}

// in returns the components that the cluster has, in dependency order.
func (w *Model) in() []kind { return w.has }

// has returns the components that a cluster with these options has, in dependency order.
func (o Options) has() []kind {
	all := []kind{pd, tikv}
	if o.TiFlash > 0 {
		all = append(all, tiflash)
	}
	if o.Pump > 0 {
		all = append(all, pump)
	}
	all = append(all, tidb)
	if o.TiProxy > 0 {
		all = append(all, tiproxy)
	}
	if o.TiCDC > 0 {
		all = append(all, ticdc)
	}
	return all
}

// anyKind returns one of the components that the cluster has.
func (w *Model) anyKind() kind { return w.in()[w.rng.IntN(len(w.in()))] }

// holds is what the members of each component keep on disk.
var holds = func() (all [len(kinds)]topology.Data) {
	for k, name := range kinds {
		all[k] = name.Data()
	}
	return all
}()

// data returns what the members of a component keep on disk: the model distinguishes components by
// it.
func (k kind) data() topology.Data { return holds[k] }

// leads and learns report whether members of a component are stores. Replicas of regions on stores that lead
// can be leaders; on stores that learn they are learners, which vote for nothing.
func (k kind) leads() bool  { return holds[k] == topology.Store && !optional[k] }
func (k kind) learns() bool { return holds[k] == topology.Store && optional[k] }

// optional are the components that no other one needs.
var optional = func() (all [components]bool) {
	for k, name := range kinds {
		all[k] = name.Optional()
	}
	return all
}()

// Kinds returns the components that the model has, in the order of the engine. It has no services of PD.
func Kinds() []topology.Kind {
	return slices.DeleteFunc(slices.Clone(topology.Kinds()), func(k topology.Kind) bool { return !slices.Contains(kinds[:], k) })
}

func kindOf(k topology.Kind) kind {
	for i, name := range kinds {
		if name == k {
			return kind(i)
		}
	}
	panic("sim: no such component: " + string(k))
}

// limit is the number of ordinals there is room for.
const limit = 16

const never = math.MaxInt64

// epoch is when every run begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Options are what a simulated cluster is made with.
type Options struct {
	Seed      uint64
	PD        int
	TiKV      int
	TiFlash   int // with 0 the cluster has no TiFlash at all
	Pump      int // with 0 the cluster has no Pump at all
	TiDB      int
	TiProxy   int   // with 0 the cluster has no TiProxy at all
	Drain     int64 // how long TiProxy keeps connections before it ends, in seconds
	TiCDC     int   // with 0 the cluster has no TiCDC at all
	Feeds     int   // how many tables its changefeeds send
	Learners  int   // how many replicas tables ask for in TiFlash
	RulesOff  bool  // PD's placement rules are disabled at first
	MaxCopy   int   // PD's max-replicas, 3 if not set
	Zones     []int // where the pods of each ordinal run; each for itself if not set
	Isolated  bool  // PD puts no two replicas of a region into one zone
	Tiers     []int // a label of the store of each ordinal; all the same if not set
	Copies    []int // how many copies of a region PD puts onto stores of each tier; anywhere if not set
	Slots     []int // ordinals without a member, in all components
	Advanced  bool  // the StatefulSets are AdvancedStatefulSets, whose slots users change
	Elsewhere int   // PD members in another Kubernetes cluster
	// StoresElsewhere is how many stores of another TidbCluster there are in PD.
	StoresElsewhere int
	// OtherPart: these stores are of a part whose driver restarts them, with the lock that all parts share.
	OtherPart bool
	// KeepStuck: the StatefulSet controller does not replace a pod that is not
	// Ready, as from Kubernetes 1.35 on.
	KeepStuck bool
	// KeepEnded: the StatefulSet controller does not delete a pod in a final phase, as in phase Succeeded before
	// Kubernetes 1.29.
	KeepEnded bool
	// Ordered: the StatefulSet's pod management is OrderedReady, not Parallel.
	Ordered      [components]bool
	ScaleOut     int           // how many of TiKV, and of TiDB, may be joining at the same time, 1 if not set
	ScaleIn      int           // or leaving
	EvictTimeout time.Duration // of the spec; 0 for none
	DrainTimeout time.Duration // of captures of TiCDC
	Binlog       bool          // TiDB writes its binlog to Pump
	PumpAgain    bool          // the kubelet starts a Pump again that is offline
	CannotDrain  bool          // TiCDC is of a version that does not drain captures
	MinReady     time.Duration
	Pins         bool // a webhook puts digests into pod templates
	Versions     bool // engines are of two versions of the plugin
	Reclaims     bool // the claims of removed members are to be deleted
	// DDL is what TiDB does about requests to pause DDL.
	DDL ddlOptions
	// FirstPassword: the user asks for a random first password of root.
	FirstPassword bool
	// Many: the user asks for up to twelve stores and TiDB servers. Then the order of their names as text is
	// not that of their ordinals.
	Many bool
	// ByName: where a gate asks for a restart, the user restarts the member by its name. The user does not
	// delete its pod.
	ByName bool
	// Failover: the engine may give members up.
	Failover bool
	AtOnce   bool // and need not wait until they are due
	Eviction plan.Eviction
	// Concurrency is how many members of a component a command restarts at the same time. Daemons restart one.
	Concurrency plan.Concurrency
	// Daemons is how many replicas of a daemon drive; 0 for commands only.
	Daemons int
	// Mounts: members of PD and stores of TiKV have a second volume.
	Mounts bool
	// ServerVolumes: members without data have a volume for logs.
	ServerVolumes bool
	Faults        Faults
}

// Intent is what the user wants at the moment.
type Intent struct {
	Replicas   [components]int
	Slots      [components]slots // members that the user asks to be without
	Template   [components]string
	Size       [components]int    // of each volume, in Gi
	Mounts     [components]mounts // of the volumes beside the data
	Class      [components]int    // the storage class of the volumes, by a number
	Attributes [components]string // the VolumeAttributesClass of the volumes, "" for any
	Paused     bool
	// PausedUntil is when the pause ends by itself, 0 for never.
	PausedUntil int64
	Manual      [components]bool
	Suspend     [components]bool
	// Recover: replacements of stores that are back are to go.
	Recover bool
	// Held are components whose rollout stops after some members, perhaps none, until it is promoted. Canary is how many.
	Held   [components]bool
	Canary [components]int
}

// Model is a simulated Kubernetes cluster with one TiDB cluster in it, on simulated time.
type Model struct {
	Options
	Intent Intent
	Broken []Violation
	Soft   Soft

	t    int64 // seconds since epoch
	rng  *rand.Rand
	uids uint64

	canaries *rand.Rand // by which the user asks for canaries; nil for a user who does not

	cluster     topology.Cluster
	has         []kind // the components in the spec
	names       [components][limit]string
	services    [components]bool
	config      [components]string
	partLock    PartLock
	otherPart   otherPart
	advice      advice // the ConfigMap from which a PD pod without data reads what to do
	adviceShown int64  // when pods that were there before its last change see it
	sets        [components]set
	pods        [components][limit]*pod
	claims      [components][limit]*claim
	ledger      []record
	records     [components]state.Template     // of pod templates, in the ledger
	unrecorded  [components]bool               // the record of the template that there is was replaced by that of the next one
	removals    []state.Removal                // the records of stores that we took offline
	removedBy   map[uint64]int                 // which run has recorded that of a store
	failures    [components][]topology.Failure // in the status of the TidbCluster
	lastUp      [components][limit]int64       // when a member was seen to be up last, by the truth
	tellable    [components]members            // whose marks could be judged when a component was suspended
	runs        int                            // drivers so far
	discard     []string                       // members whose data the user gives up
	named       map[string]topology.MemberRestart
	replaced    map[string]topology.MemberReplacement
	recorded    uint64 // PD's cluster id in the status of the TidbCluster

	pd          pdCluster
	stores      []*store
	evicts      map[uint64]*scheduler
	regions     []region
	rules       rules
	cdc         captures
	pumps       [limit]*registration
	root        root
	ddl         ddlPause
	flash       rulesOff
	asks        int   // how many replicas tables ask for in TiFlash
	zonesBefore []int // of each ordinal, before a person gave a store another label; nil while nobody has
	short       bool  // regions have fewer replicas than they should

	*driver           // the one whose turn it is
	drivers []*driver // all that run
	chaos   bool

	leaseObject *coordinationv1.Lease
	operator    string                      // a tidb-operator that drives the cluster as well; "" when none does
	cameAt      int64                       // when it began
	seesAt      int64                       // when commands see it
	goesAt      int64                       // when it goes away
	theirs      []uint64                    // stores that it evicts leaders from
	writes      int                         // of the Lease, of the status, and steps, by those who go by the Lease
	spoiled     [len(kinds)]int64           // until when the certificate of a component is not accepted
	asked       [len(kinds)]map[string]bool // templates that the user has asked for, ever
	renewed     [len(kinds)]int64           // when a valid one is put into its Secret
	broken      broken
	away        int64     // until when there is no API server
	vacancies   []int64   // when replicas begin in the place of those that have ended
	replicas    int       // that were begun first
	closing     bool      // and no others do
	planned     plan.Plan // by a daemon, the last time that one could

	shrinkAt   int64 // when users have deleted so much data that no disk is nearly full; 0 for never
	clocks     clocks
	opensFor   int64 // how long a store's process opens its data, in seconds; little if it is 0
	likeness   [components]likeness
	transcript *transcript
	watches    []watch
	cut        bool // the engine is killed half-way through its next step
	sleeper    sleeper
	unwanted   bool   // the user deletes the cluster
	judging    bool   // writes from outside are those of the plugin
	killed     func() // what a person does when the engine was killed; nil for nothing
}

// New returns a model in which nothing exists yet.
func New(o Options) *Model {
	if o.MaxCopy == 0 {
		o.MaxCopy = 3
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 10 * time.Minute
	}
	w := &Model{
		Options: o,
		rng:     rand.New(rand.NewPCG(o.Seed, 1)),
		cluster: topology.Cluster{Namespace: "db", Name: "basic", Instance: "basic", Advanced: o.Advanced || len(o.Slots) > 0},
		evicts:  map[uint64]*scheduler{},

		removedBy: map[uint64]int{},
		driver:    &driver{late: never, version: 1},
	}
	w.asks = min(o.Learners, o.TiFlash)
	w.flash.off = o.RulesOff
	w.rules = rules{isolated: o.Isolated, copies: o.Copies}
	w.cluster.Reclaims = o.Reclaims
	w.Intent.Replicas = [components]int{pd: o.PD, tikv: o.TiKV, tiflash: o.TiFlash, pump: o.Pump, tidb: o.TiDB, tiproxy: o.TiProxy, ticdc: o.TiCDC}
	w.has, w.cdc.tables = o.has(), o.Feeds
	for k := range kinds {
		w.Intent.Template[k], w.asked[k] = "v1", map[string]bool{"v1": true}
	}
	w.pd.electAt = never
	w.Intent.Size = [components]int{pd: defaultSize, tikv: defaultSize}
	if o.Mounts {
		w.Intent.Mounts = [components]mounts{pd: firstMounts, tikv: firstMounts}
	}
	if o.TiFlash > 0 {
		w.Intent.Size[tiflash] = defaultSize
	}
	for _, k := range withoutData() {
		if o.ServerVolumes {
			w.Intent.Size[k] = defaultSize
		}
	}
	for k := range kinds {
		for i := range limit {
			w.names[k][i] = w.cluster.PodName(kinds[k], w.ordinal(i))
		}
	}
	return w
}

// Now is the simulated time.
func (w *Model) Now() time.Time { return w.at(w.t) }

func (w *Model) at(t int64) time.Time { return epoch.Add(time.Duration(t) * time.Second) }

// Pass lets time pass.
func (w *Model) Pass(seconds int) {
	for range seconds {
		w.tick()
	}
}

func (w *Model) tick() {
	w.t++
	if w.chaos {
		w.injectFaults()
	}
	w.tickLease()
	w.tickDaemons()
	w.tickOperator()
	for k := range kinds {
		w.dropClaims(kind(k))
		w.control(kind(k))
		w.run(kind(k))
		w.growVolumes(kind(k))
		w.modifyVolumes(kind(k))
	}
	w.tickPD()
	w.tickStores()
	w.tickOtherPart()
	w.forgetTaken()
	w.tickPatrol()
	w.shrinkData()
	w.tickCaptures()
	w.tickPumps()
	w.tickUp()
	for i := range w.watches {
		w.watches[i].look(w)
	}
}

func (w *Model) number() uint64 { w.uids++; return w.uids }

func (w *Model) uid() string { return strconv.FormatUint(w.number(), 10) }

// between returns a random number of seconds, and without faults always the lowest.
func (w *Model) between(low, high int64) int64 {
	if !w.chaos {
		return low
	}
	return low + w.rng.Int64N(high-low+1)
}

// flaw returns what is wrong with a pod template, which is part of its name: "v2" works,
// "v2-noimage" does not.
func flaw(revision string) string {
	_, what, _ := strings.Cut(asked(revision), "-")
	return what
}

// The flaws a template can have.
const (
	noImage    = "noimage"    // the image does not exist
	crashing   = "crashing"   // the container exits after a few seconds
	deaf       = "deaf"       // it runs and is Ready but does not serve
	frail      = "frail"      // it serves, but exits after half a minute
	statusless = "statusless" // it serves, but the status port of TiDB refuses connections
	refused    = "refused"    // an admission webhook refuses the pods
)

// Package topology has what the user wants. It makes a Cluster value from a TidbCluster, defaulted and validated,
// with every name that follows from it.
//
// It is pure: the same TidbCluster always gives the same Cluster. Nothing here
// knows what exists in Kubernetes or in PD; that is package state.
package topology

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// Kind is a component of a TiDB cluster. Its value is the one of the label
// app.kubernetes.io/component and a part of every object's name.
type Kind string

// The components that are driven, in the order in which they depend on each other: each needs all earlier ones.
const (
	PD         Kind = "pd"
	TSO        Kind = "tso"        // the service of PD that gives timestamps
	Scheduling Kind = "scheduling" // the service of PD that moves regions
	TiKV       Kind = "tikv"
	TiFlash    Kind = "tiflash"
	Pump       Kind = "pump"
	TiDB       Kind = "tidb"
	TiProxy    Kind = "tiproxy"
	TiCDC      Kind = "ticdc"
)

// Data is what a component's members keep in their volumes, and so where PD lists them. Before a
// member's data is deleted, PD is asked there whether it counts on the data.
type Data int

// What members keep.
const (
	// None: the database counts on nothing. So PD does not list the members, and an existing claim can be used again.
	None Data = iota
	// Raft: the log of PD itself. Members vote: to add one while another one is down
	// can cost the quorum for good. PD lists them as its own members.
	Raft
	// Store: copies of regions, the cluster's data. PD lists the members as stores.
	Store
	// Binlog: what TiDB has written, until drainers have read it. The members register in PD's etcd,
	// and drainers wait for each that is not offline there.
	Binlog
)

// traits are what distinguishes a component from the others, as data. How it is scaled and
// restarted is in its plan.Profile.
type traits struct {
	kind  Kind
	title string
	data  Data
	// volume is the name of the claim template of the data, "" where the members keep none.
	volume string
	// idLabel: see IDLabel.
	idLabel string
	// optional: see Optional.
	optional bool
	// endsFirst: see EndsFirst.
	endsFirst bool
	// byService: other members find the component by the name of its Service.
	byService bool
	// service is the end of the name of the headless Service, where it is not the usual one.
	service *string
	// slotless: the API has no annotation for slots of the component.
	slotless bool
	// serves: see Serves.
	serves Kind
	// slotsUnread: the API module does not check the annotation for slots of the component.
	slotsUnread bool
	// reloads: see Reloads.
	reloads bool
	// keeps: see Keeps.
	keeps       []string
	ownReleases bool
	// without: see Without.
	without string
	// prefix is the prefix of the annotation with MinReady, where it is not the usual prefix.
	prefix  string
	records records // of failovers
	status  func(*v1alpha1.TidbClusterStatus) v1alpha1.ComponentStatus
}

// components are all of them in dependency order.
var components = []traits{
	{kind: PD, title: "PD", data: Raft, volume: string(PD), idLabel: LabelMemberID, byService: true, keeps: []string{"schedule", "replication"}, records: pdRecords,
		status: func(s *v1alpha1.TidbClusterStatus) v1alpha1.ComponentStatus { return &s.PD }},
	{kind: TSO, title: "TSO", byService: true, serves: PD, slotsUnread: true, status: serviceStatus(TSO)},
	{kind: Scheduling, title: "Scheduling", byService: true, optional: true, serves: PD, slotsUnread: true,
		without: "PD moves regions itself, where its version and its settings let it", status: serviceStatus(Scheduling)},
	{kind: TiKV, title: "TiKV", data: Store, volume: string(TiKV), idLabel: LabelStoreID, records: tikvRecords,
		status: func(s *v1alpha1.TidbClusterStatus) v1alpha1.ComponentStatus { return &s.TiKV }},
	{kind: TiFlash, title: "TiFlash", data: Store, volume: TiFlashVolume(0), idLabel: LabelStoreID, optional: true, records: tiflashRecords,
		without: "all queries read from TiKV, which can be much slower",
		status:  func(s *v1alpha1.TidbClusterStatus) v1alpha1.ComponentStatus { return &s.TiFlash }},
	{kind: Pump, title: "Pump", data: Binlog, volume: "data", optional: true, service: new(string), slotless: true,
		without: "TiDB can write no binlog",
		status:  func(s *v1alpha1.TidbClusterStatus) v1alpha1.ComponentStatus { return &s.Pump }},
	{kind: TiDB, title: "TiDB", endsFirst: true, records: tidbRecords,
		without: "no client can connect to it",
		status:  func(s *v1alpha1.TidbClusterStatus) v1alpha1.ComponentStatus { return &s.TiDB }},
	{kind: TiProxy, title: "TiProxy", optional: true, reloads: true, ownReleases: true, prefix: "tiproxy.pingcap.com",
		without: "no client can connect through it",
		status:  func(s *v1alpha1.TidbClusterStatus) v1alpha1.ComponentStatus { return &s.TiProxy }},
	{kind: TiCDC, title: "TiCDC", optional: true, without: "no changefeed runs, and one that has not run for the time of gc-ttl, a day if TiCDC is not told otherwise, cannot go on",
		status: func(s *v1alpha1.TidbClusterStatus) v1alpha1.ComponentStatus { return &s.TiCDC }},
}

// serviceStatus returns the part of a service of PD in the status, which is an entry of a map. A status without the
// entry is not changed here: a daemon's copy may be shared.
func serviceStatus(k Kind) func(*v1alpha1.TidbClusterStatus) v1alpha1.ComponentStatus {
	return func(s *v1alpha1.TidbClusterStatus) v1alpha1.ComponentStatus {
		if part := s.PDMS[string(k)]; part != nil {
			return part
		}
		return &v1alpha1.PDMSStatus{Name: string(k)}
	}
}

// traits returns the traits of the component; for an unknown component only the name.
func (k Kind) traits() *traits {
	for i := range components {
		if components[i].kind == k {
			return &components[i]
		}
	}
	return &traits{kind: k, title: string(k)}
}

// Kinds lists the components in dependency order.
func Kinds() []Kind {
	kinds := make([]Kind, len(components))
	for i, t := range components {
		kinds[i] = t.kind
	}
	return kinds
}

// Title returns the component's name as its makers write it.
func (k Kind) Title() string { return k.traits().title }

// Data returns what the component's members keep.
func (k Kind) Data() Data { return k.traits().data }

// DataVolume returns the name of the claim template that a component's members keep their data in. It is the first one
// where there are several; "" where the members keep no data.
func (k Kind) DataVolume() string { return k.traits().volume }

// Serves returns the component of which this one is a service. Its members have the same program, show the same
// certificate, and PD lists those that serve. It returns false for a component that is no service.
func (k Kind) Serves() (Kind, bool) {
	of := k.traits().serves
	return of, of != ""
}

// Services lists the services of PD.
func Services() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { _, is := k.Serves(); return !is })
}

// Votes reports whether the component's members vote in PD.
func (k Kind) Votes() bool { return k.Data() == Raft }

// Leads reports whether the component's members are stores that lead regions. Copies of an optional component do not.
func (k Kind) Leads() bool { return k.Data() == Store && !k.Optional() }

// IDLabel returns the label with a member's id in PD, which tools read; "" where members have no id.
func (k Kind) IDLabel() string { return k.traits().idLabel }

// Optional reports whether the other components can do without this one. What its members keep is elsewhere as well.
// Such a component may have no members, and may be suspended alone. TiDB can do without Pump only where TiDB writes no
// binlog.
func (k Kind) Optional() bool { return k.traits().optional }

// Status returns the component's part of the status of a TidbCluster, whether or not its spec has
// the component.
func (k Kind) Status(s *v1alpha1.TidbClusterStatus) v1alpha1.ComponentStatus {
	return k.traits().status(s)
}

// Without returns what users of the cluster lack while the component has no members, as the end of a sentence. It is ""
// where the component cannot be without members.
func (k Kind) Without() string { return k.traits().without }

// Reloads reports whether members read a changed configuration again, so that no member is restarted for the change.
func (k Kind) Reloads() bool { return k.traits().reloads }

// OwnReleases reports whether the component's releases have their own numbers. Then spec.version says nothing about the
// releases, and no release keeps anything that an older release could not read.
func (k Kind) OwnReleases() bool { return k.traits().ownReleases }

// EndsFirst reports whether the component's members must be deleted before the other components. A TiDB server without
// PD tries to reach PD until the server is killed.
func (k Kind) EndsFirst() bool { return k.traits().endsFirst }

// Keeps reports whether members read a setting from their file only when the cluster is made. Since then the members
// keep the setting themselves.
func (k Kind) Keeps(key string) bool {
	table, _, _ := strings.Cut(key, ".")
	return slices.Contains(k.traits().keeps, table)
}

// ParseKind reads a component's name as a user types it, in lower case.
func ParseKind(s string) (Kind, bool) {
	k := Kind(s)
	return k, slices.Contains(Kinds(), k)
}

package plan

import (
	"cmp"
	"slices"
)

// Reason names what a gate waits for. Component, member, object and reason together identify a gate
// from one turn to the next. They also do for scripts that read JSON, in metrics and in Kubernetes
// Events. The names are a contract (docs/reference/reasons.md): they stay, and messages may change.
type Reason string

// The reasons. Reasons says what each of them means.
const (
	ClusterBeingDeleted Reason = "ClusterBeingDeleted"
	SpecKnown           Reason = "SpecKnown"
	SpecReadable        Reason = "SpecReadable"
	UpdateAllowed       Reason = "UpdateAllowed"
	PodOwnerSupported   Reason = "PodOwnerSupported"
	OrdinalsKept        Reason = "OrdinalsKept"
	ClaimsRetained      Reason = "ClaimsRetained"
	VersionReadsData    Reason = "VersionReadsData"
	ConfigMapExists     Reason = "ConfigMapExists"
	CertificateValid    Reason = "CertificateValid"
	TemplateAsked       Reason = "TemplateAsked"
	MinimumReplicas     Reason = "MinimumReplicas"

	MaintenanceEnded Reason = "MaintenanceEnded"
	OtherPartIdle    Reason = "OtherPartIdle"
	RestoreEnded     Reason = "RestoreEnded"

	GoalReached Reason = "GoalReached"

	PDServing   Reason = "PDServing"
	PDUpgraded  Reason = "PDUpgraded"
	TSOServing  Reason = "TSOServing"
	TiKVServing Reason = "TiKVServing"
	PumpServing Reason = "PumpServing"

	PlacementRulesEnabled Reason = "PlacementRulesEnabled"

	SpecObserved    Reason = "SpecObserved"
	RolloutQueued   Reason = "RolloutQueued"
	PodReplaced     Reason = "PodReplaced"
	ManualRestart   Reason = "ManualRestart"
	MinReadyTime    Reason = "MinReadyTime"
	RolloutRecorded Reason = "RolloutRecorded"
	VersionReported Reason = "VersionReported"
	CanaryPromoted  Reason = "CanaryPromoted"
	BatchSafe       Reason = "BatchSafe"

	MemberServing       Reason = "MemberServing"
	MemberJoined        Reason = "MemberJoined"
	MembershipKnown     Reason = "MembershipKnown"
	AnotherMember       Reason = "AnotherMember"
	QuorumWithoutMember Reason = "QuorumWithoutMember"
	PDLeaderReachable   Reason = "PDLeaderReachable"
	PDLeaderMoved       Reason = "PDLeaderMoved"
	PDLeaderRestarted   Reason = "PDLeaderRestarted"
	PrimaryMoved        Reason = "PrimaryMoved"
	MemberRemoved       Reason = "MemberRemoved"
	RemovedPodDeleted   Reason = "RemovedPodDeleted"

	SchedulersLoaded  Reason = "SchedulersLoaded"
	LeadersEvicted    Reason = "LeadersEvicted"
	LeadersAllowed    Reason = "LeadersAllowed"
	LeadersReturned   Reason = "LeadersReturned"
	EvictionForgotten Reason = "EvictionForgotten"
	EvictionsEnded    Reason = "EvictionsEnded"

	StoresElsewhereUp   Reason = "StoresElsewhereUp"
	EnoughStores        Reason = "EnoughStores"
	PlacementRulesKnown Reason = "PlacementRulesKnown"
	PlacementPossible   Reason = "PlacementPossible"
	StoreOffline        Reason = "StoreOffline"
	RegionsMoved        Reason = "RegionsMoved"
	RegionsBalanced     Reason = "RegionsBalanced"
	RemovalCancelled    Reason = "RemovalCancelled"
	StoresListed        Reason = "StoresListed"
	RemovalsForgotten   Reason = "RemovalsForgotten"

	CaptureOwnerMoved Reason = "CaptureOwnerMoved"
	TablesMoved       Reason = "TablesMoved"
	ChangefeedsServed Reason = "ChangefeedsServed"
	DrainForgotten    Reason = "DrainForgotten"

	BinlogReceived   Reason = "BinlogReceived"
	PumpOffline      Reason = "PumpOffline"
	FirstPasswordSet Reason = "FirstPasswordSet"

	DDLStatementsPaused Reason = "DDLStatementsPaused"

	ClaimsMarked         Reason = "ClaimsMarked"
	ClaimsUnmarked       Reason = "ClaimsUnmarked"
	ClaimBeingDeleted    Reason = "ClaimBeingDeleted"
	ClaimDeleted         Reason = "ClaimDeleted"
	ClaimOwnerKnown      Reason = "ClaimOwnerKnown"
	ClaimFree            Reason = "ClaimFree"
	VolumeResized        Reason = "VolumeResized"
	VolumeModified       Reason = "VolumeModified"
	StatefulSetRecreated Reason = "StatefulSetRecreated"

	SuspendQueued       Reason = "SuspendQueued"
	OtherPartsSuspended Reason = "OtherPartsSuspended"
	PodDeleted          Reason = "PodDeleted"
	StatefulSetDeleted  Reason = "StatefulSetDeleted"
)

// Meaning is a reason with what it stands for.
type Meaning struct {
	Reason Reason
	Text   string
	State  string // the state while the gate does not hold
	form   form
}

// form says how the line of a gate is made from its subject, its state and what is observed.
type form int

const (
	apart  form = iota // "basic-tikv-1: leaders not evicted: 12 leaders left"
	direct             // "basic-pd-0 not serving: ContainerCreating"
	bare               // "basic-tikv-2: needs 3 other stores, has 2": only what is observed
)

// String returns the line of a gate that does not hold: its subject, its state, and what is
// observed.
func (g Gate) String() string {
	r := meaning(g.Reason)
	state := r.State
	switch {
	case g.Observed == "":
	case r.form == bare:
		state = g.Observed
	default:
		state += ": " + g.Observed
	}
	return r.about(g, state)
}

// Passed returns the line of a gate that holds now, such as "basic-pd-0 serving".
func (g Gate) Passed() string { return meaning(g.Reason).about(g, g.Want) }

// about adds the member or the component in front, if the gate is about one.
func (r Meaning) about(g Gate, text string) string {
	who := cmp.Or(g.Member, g.Component.Title())
	switch {
	case who == "":
		return text
	case r.form == direct:
		return who + " " + text
	}
	return who + ": " + text
}

func meaning(r Reason) Meaning {
	for _, m := range meanings {
		if m.Reason == r {
			return m
		}
	}
	return Meaning{Reason: r}
}

// Reasons returns all reasons, in the order in which a reader meets them. The order is: cluster,
// needs, rollouts, members, leaders, stores, volumes, suspension.
func Reasons() []Meaning { return slices.Clone(meanings) }

var meanings = []Meaning{
	{ClusterBeingDeleted, "the TidbCluster has a deletion timestamp", "the TidbCluster is being deleted", bare},
	{SpecKnown, "the spec has fields that only a newer version of the plugin knows", "spec has fields that this version does not know", bare},
	{SpecReadable, "the configuration in the spec has to be valid TOML", "configuration in the spec is not valid TOML", apart},
	{UpdateAllowed, "the spec asks for a change of what cannot be changed", "update rejected", apart},
	{PodOwnerSupported, "pods belong to a controller that is not supported", "controller of the pod not supported", apart},
	{ClaimsRetained, "Kubernetes would delete the claims of pods that go", "claims not kept when pods go", apart},
	{OrdinalsKept, "the StatefulSet would give a member with data no pod, because its first ordinal was raised or is lost", "ordinals of the members not kept", apart},
	{VersionReadsData, "the volumes have data of a newer version", "version too low for the data", apart},
	{ConfigMapExists, "pods mount a ConfigMap that does not exist", "ConfigMap missing", bare},
	{CertificateValid, "a Secret with a certificate is missing, or its certificate cannot be used", "certificate not valid", apart},
	{TemplateAsked, "others keep another version in the pod template than the one that is asked for", "pod template has another version", apart},
	{GoalReached, "what `wait --for` asks for does not hold yet", "what is awaited has not come", bare},
	{MaintenanceEnded, "a node with other members is under maintenance, and may go down at any time", "node under maintenance", apart},
	{OtherPartIdle, "another part of the database takes members away, and two parts must not do so at the same time", "another part takes members away", apart},
	{RestoreEnded, "BR restores data, which it writes to all stores", "restore under way", apart},
	{MinimumReplicas, "the component cannot have as few members as the spec asks for", "too few replicas", bare},
	{PDServing, "a component waits for PD", "PD not serving", apart},
	{PDUpgraded, "PD in another part of the database has to get the version that is asked for here", "PD of another part has an older version", apart},
	{TSOServing, "a component waits for the service of PD that gives timestamps", "TSO not serving", apart},
	{TiKVServing, "a component waits for TiKV", "TiKV not serving", apart},
	{PumpServing, "TiDB waits for Pump, which it writes its binlog to", "Pump not serving", apart},
	{PlacementRulesEnabled, "PD has to place copies by its placement rules, or no TiFlash store can join", "placement rules disabled in PD", apart},
	{SpecObserved, "the StatefulSet controller has to see the new spec", "StatefulSet controller has not seen the new spec", apart},
	{RolloutQueued, "the rollout waits for an earlier component", "rollout queued", bare},
	{PodReplaced, "Kubernetes has to replace the pod", "pod not replaced", apart},
	{ManualRestart, "with OnDelete, a user has to ask for the restart, or to delete the pod", "pod not replaced", apart},
	{MinReadyTime, "a restarted pod has to be Ready for spec.minReadySeconds", "not ready for spec.minReadySeconds yet", direct},
	{RolloutRecorded, "the StatefulSet's status has to show the finished rollout", "StatefulSet status does not show the finished rollout", apart},
	{VersionReported, "a member has to report the version that is asked for", "another version reported", apart},
	{BatchSafe, "PD has to show that several members may be down together", "batch not proven safe", apart},
	{CanaryPromoted, "a canary was rolled out, and a person has to promote it", "canary not promoted", apart},
	{MemberServing, "a member has to serve", "not serving", direct},
	{MemberJoined, "PD has to know a new member", "not registered in PD", direct},
	{MembershipKnown, "PD has to report whether it knows a member", "membership in PD unknown", apart},
	{AnotherMember, "the only member cannot be removed", "no other member", apart},
	{QuorumWithoutMember, "PD has to keep its quorum without the member", "no quorum without it", apart},
	{PDLeaderReachable, "PD's leader, or members that may be a quorum, cannot be asked from here, and may serve everybody else", "PD's leader not reachable from here", bare},
	{PDLeaderMoved, "another member has to be the leader of PD", "PD not led by another member", apart},
	{PDLeaderRestarted, "a member that was restarted has to be the leader of PD", "PD not led by a restarted member", apart},
	{PrimaryMoved, "another member has to be the primary of a service of PD", "no other member the primary", apart},
	{MemberRemoved, "PD has to remove the member", "not removed from PD", direct},
	{RemovedPodDeleted, "the pod of a removed member has to be deleted", "removed pod not deleted", apart},
	{SchedulersLoaded, "PD has to load its schedulers after a change of its leader", "PD has not loaded its schedulers", apart},
	{LeadersEvicted, "a store has to have no region leaders", "leaders not evicted", apart},
	{LeadersAllowed, "PD has to allow region leaders on the store again", "leaders not allowed yet", apart},
	{LeadersReturned, "region leaders have to be back on a restarted store", "leaders of another store not back", apart},
	{EvictionForgotten, "the record of an eviction that is over has to be deleted", "eviction record not deleted", apart},
	{EvictionsEnded, "PD has to allow region leaders on all stores", "evictions not ended", apart},
	{StoresElsewhereUp, "stores that PD counts and that are no members of this cluster have to be Up", "stores elsewhere not Up", bare},
	{EnoughStores, "other stores have to be enough for max-replicas", "not enough other stores", bare},
	{PlacementRulesKnown, "PD has to return its placement rules", "placement rules unknown", apart},
	{PlacementPossible, "other stores have to fulfil PD's placement rules", "no place for copies on other stores", bare},
	{StoreOffline, "PD has to take the store offline", "store not offline", apart},
	{RegionsMoved, "all regions have to leave the store", "regions not moved away", apart},
	{RegionsBalanced, "PD has to give a store that was replaced its share of regions, before the next one is replaced", "regions not balanced", apart},
	{RemovalCancelled, "PD has to take the store back", "removal not cancelled", apart},
	{RemovalsForgotten, "records of removals that PD was never asked for have to be deleted", "removal record not deleted", apart},
	{StoresListed, "PD has to list its stores", "PD has not listed its stores", apart},
	{CaptureOwnerMoved, "another capture has to be the owner of TiCDC", "owner of TiCDC not moved", apart},
	{TablesMoved, "all tables of changefeeds have to leave the capture", "tables not moved to other captures", apart},
	{ChangefeedsServed, "changefeeds run, and the last capture is to be removed", "changefeeds need a capture", apart},
	{DrainForgotten, "the record of a drain that is over has to be deleted", "drain record not deleted", apart},
	{BinlogReceived, "TiDB writes its binlog, and the last Pump is to be removed", "TiDB needs a Pump", apart},
	{PumpOffline, "a Pump has to go offline, after drainers have read what it has", "Pump not offline", apart},
	{FirstPasswordSet, "root of TiDB has to get the first password that the spec asks for", "first password of root not set", apart},
	{DDLStatementsPaused, "DDL statements of users have to wait before a TiDB server gets another version", "DDL statements not paused", apart},
	{ClaimsMarked, "claims of a removed member have to be marked as left over", "claims not marked as left over", apart},
	{ClaimsUnmarked, "claims of a member that stays must not be marked", "claims still marked as left over", apart},
	{ClaimBeingDeleted, "a claim is deleted with its pod, so the pod must stay", "claim being deleted", bare},
	{ClaimDeleted, "a left-over claim has to be deleted", "left-over claim not deleted", apart},
	{ClaimOwnerKnown, "PD has to report whose data a claim holds", "owner of the claim unknown", apart},
	{ClaimFree, "a claim holds data of a member that PD does not know", "claim not free", bare},
	{VolumeResized, "a volume has to grow", "volume not resized", apart},
	{VolumeModified, "a volume has to get another VolumeAttributesClass", "volume not modified", apart},
	{StatefulSetRecreated, "the StatefulSet has to be recreated, with other claim templates", "StatefulSet not recreated with other claim templates", apart},
	{SuspendQueued, "a component is suspended after those that need it", "suspension queued", bare},
	{OtherPartsSuspended, "PD is suspended after the other parts of the database, whose members need PD", "other parts not suspended", apart},
	{PodDeleted, "a pod has to be deleted", "pod not deleted", apart},
	{StatefulSetDeleted, "the StatefulSet has to be deleted", "StatefulSet not deleted", apart},
}

package plan

// Reason names what a gate waits for. Component, member, object and reason together
// identify a gate: from one turn to the next, for scripts that read JSON, in metrics
// and in Kubernetes Events. The names are a contract (docs/reference/reasons.md): they
// stay, and messages may change.
type Reason string

// The reasons. Reasons says what each of them means.
const (
	ClusterBeingDeleted Reason = "ClusterBeingDeleted"
	SpecKnown           Reason = "SpecKnown"
	SpecReadable        Reason = "SpecReadable"
	UpdateAllowed       Reason = "UpdateAllowed"
	PodOwnerSupported   Reason = "PodOwnerSupported"
	VersionReadsData    Reason = "VersionReadsData"
	ConfigMapExists     Reason = "ConfigMapExists"
	MinimumReplicas     Reason = "MinimumReplicas"

	PDServing   Reason = "PDServing"
	TiKVServing Reason = "TiKVServing"

	SpecObserved    Reason = "SpecObserved"
	RolloutQueued   Reason = "RolloutQueued"
	PodReplaced     Reason = "PodReplaced"
	ManualRestart   Reason = "ManualRestart"
	MinReadyTime    Reason = "MinReadyTime"
	RolloutRecorded Reason = "RolloutRecorded"

	MemberServing       Reason = "MemberServing"
	MemberJoined        Reason = "MemberJoined"
	MembershipKnown     Reason = "MembershipKnown"
	AnotherMember       Reason = "AnotherMember"
	QuorumWithoutMember Reason = "QuorumWithoutMember"
	PDLeaderMoved       Reason = "PDLeaderMoved"
	MemberRemoved       Reason = "MemberRemoved"
	RemovedPodDeleted   Reason = "RemovedPodDeleted"

	SchedulersLoaded  Reason = "SchedulersLoaded"
	LeadersEvicted    Reason = "LeadersEvicted"
	LeadersAllowed    Reason = "LeadersAllowed"
	LeadersReturned   Reason = "LeadersReturned"
	EvictionForgotten Reason = "EvictionForgotten"
	EvictionsEnded    Reason = "EvictionsEnded"

	EnoughStores        Reason = "EnoughStores"
	PlacementRulesKnown Reason = "PlacementRulesKnown"
	PlacementPossible   Reason = "PlacementPossible"
	StoreOffline        Reason = "StoreOffline"
	RegionsMoved        Reason = "RegionsMoved"
	RemovalCancelled    Reason = "RemovalCancelled"
	StoresListed        Reason = "StoresListed"
	RemovalsForgotten   Reason = "RemovalsForgotten"

	ClaimsMarked         Reason = "ClaimsMarked"
	ClaimsUnmarked       Reason = "ClaimsUnmarked"
	ClaimBeingDeleted    Reason = "ClaimBeingDeleted"
	ClaimDeleted         Reason = "ClaimDeleted"
	ClaimOwnerKnown      Reason = "ClaimOwnerKnown"
	ClaimFree            Reason = "ClaimFree"
	VolumeResized        Reason = "VolumeResized"
	StatefulSetRecreated Reason = "StatefulSetRecreated"

	SuspendQueued      Reason = "SuspendQueued"
	PodDeleted         Reason = "PodDeleted"
	StatefulSetDeleted Reason = "StatefulSetDeleted"
)

// Meaning is a reason with what it stands for.
type Meaning struct {
	Reason Reason
	Text   string
}

// Reasons returns all reasons, in the order in which a reader meets them: the cluster,
// needs, rollouts, members, leaders, stores, volumes, suspension.
func Reasons() []Meaning {
	return []Meaning{
		{ClusterBeingDeleted, "the TidbCluster has a deletion timestamp"},
		{SpecKnown, "the spec has fields that only a newer version of the plugin knows"},
		{SpecReadable, "the configuration in the spec has to be valid TOML"},
		{UpdateAllowed, "the spec asks for a change of what cannot be changed"},
		{PodOwnerSupported, "pods belong to a controller that is not supported"},
		{VersionReadsData, "the volumes have data of a newer version"},
		{ConfigMapExists, "pods mount a ConfigMap that does not exist"},
		{MinimumReplicas, "the component cannot have as few members as the spec asks for"},
		{PDServing, "a component waits for PD"},
		{TiKVServing, "a component waits for TiKV"},
		{SpecObserved, "the StatefulSet controller has to see the new spec"},
		{RolloutQueued, "the rollout waits for an earlier component"},
		{PodReplaced, "Kubernetes has to replace the pod"},
		{ManualRestart, "with OnDelete, the user has to delete the pod"},
		{MinReadyTime, "a restarted pod has to be Ready for spec.minReadySeconds"},
		{RolloutRecorded, "the StatefulSet's status has to show the finished rollout"},
		{MemberServing, "a member has to serve"},
		{MemberJoined, "PD has to know a new member"},
		{MembershipKnown, "PD has to say whether it knows a member"},
		{AnotherMember, "the only member cannot be removed"},
		{QuorumWithoutMember, "PD has to keep its quorum without the member"},
		{PDLeaderMoved, "another member has to be the leader of PD"},
		{MemberRemoved, "PD has to remove the member"},
		{RemovedPodDeleted, "the pod of a removed member has to go"},
		{SchedulersLoaded, "PD has to load its schedulers after a change of its leader"},
		{LeadersEvicted, "a store has to have no region leaders"},
		{LeadersAllowed, "PD has to allow region leaders on the store again"},
		{LeadersReturned, "region leaders have to be back on a restarted store"},
		{EvictionForgotten, "the record of an eviction that is over has to go"},
		{EvictionsEnded, "PD has to allow region leaders on all stores"},
		{EnoughStores, "other stores have to be enough for max-replicas"},
		{PlacementRulesKnown, "PD has to tell its placement rules"},
		{PlacementPossible, "other stores have to fulfil PD's placement rules"},
		{StoreOffline, "PD has to take the store offline"},
		{RegionsMoved, "all regions have to leave the store"},
		{RemovalCancelled, "PD has to take the store back"},
		{RemovalsForgotten, "records of removals that PD was never asked for have to go"},
		{StoresListed, "PD has to list its stores"},
		{ClaimsMarked, "claims of a removed member have to be marked as left over"},
		{ClaimsUnmarked, "claims of a member that stays must not be marked"},
		{ClaimBeingDeleted, "a claim goes with its pod, so the pod must not go"},
		{ClaimDeleted, "a left-over claim has to go"},
		{ClaimOwnerKnown, "PD has to say whose data a claim holds"},
		{ClaimFree, "a claim holds data of a member that PD does not know"},
		{VolumeResized, "a volume has to grow"},
		{StatefulSetRecreated, "the StatefulSet has to be created again, with larger claims"},
		{SuspendQueued, "a component is suspended after those that need it"},
		{PodDeleted, "a pod has to go"},
		{StatefulSetDeleted, "the StatefulSet has to go"},
	}
}

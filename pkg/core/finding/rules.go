package finding

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// ID names a rule. The names are a contract: they stay, and texts may change.
type ID string

// rule is one thing to look for.
type rule struct {
	id       ID
	severity Severity
	matters  string // why it matters, as a sentence
	unfixed  string // why "doctor --fix" leaves findings for which the rule has no fix
	// find looks for it; undriven(find) while no process drives the cluster.
	find func(Look) []Finding
}

const (
	byPerson = "a person has to decide this"
	byDriver = "a run does this, step by step and with checks"
	byOther  = "another user or tool made it, so only a person knows whether it is still needed"
	byReader = "nothing is known about it"
	byPause  = "the pause ends when a person ends it, and a run then goes on with it"
	byState  = "it is no left-over: the member has to serve again"
	notNow   = "PD could not be asked, a driver is at work, or the cluster is paused"
)

// Meaning says what a rule looks for.
type Meaning struct {
	ID       ID
	Severity Severity
	Matters  string
}

// Rules returns all rules, in the order in which they are applied.
func Rules() []Meaning {
	all := make([]Meaning, len(rules))
	for i, r := range rules {
		all[i] = Meaning{r.id, r.severity, r.matters}
	}
	return all
}

var rules = slices.Concat(nodeRules, serving, room, leftOver, asked, redundancy, unknowns)

// serving are the rules about members that do not serve.
var serving = []rule{
	{"blocked", Error, "Nothing goes on until a person does something.", byPerson, blocked},
	{"pd-member-unhealthy", Error, "With one more member down PD may lose its quorum, and then nothing in the cluster can be changed.", byState, voters},
	{"store-down", Error, "The regions on it have a copy less, and with one more store down some may be lost to clients.", byState, storesDown},
	{"store-offline", Warning, "PD moves its regions to other stores, and uses none of its space.", byPerson, storesOffline},
	{"member-not-serving", Error, "The others carry its load.", byState, membersDown},
	{"member-replaced", Info, "A further member is there instead, and the component has one member more than the spec asks for.", byPerson, membersReplaced},
}

// room are the rules about the disks of stores.
var room = []rule{
	{"store-full", Error, "TiKV refuses writes when the space that it reserves on its disk is used up.", byPerson, storesFull},
	{"store-nearly-full", Warning, "PD moves no regions to it, so the regions of a store that is lost or removed may have no place.", byPerson, storesNearlyFull},
}

// leftOver are the rules about what nobody has taken back.
var leftOver = []rule{
	{"evict-scheduler-left", Warning, "PD keeps all region leaders off the store for ever, so the others carry its load.", notNow, undriven(schedulersLeft)},
	{"evict-scheduler-of-others", Warning, "PD keeps all region leaders off the store as long as the scheduler is there.", byOther, reported(event.ForeignScheduler)},
	{"begun-before-pause", Warning, "No process goes on with it before the pause ends: stores lead no regions, or pods restart or end unguarded.", byPause, reported(event.BegunBeforePause)},
	{"leaders-not-moved", Warning, "PD accepts the eviction of a store and does not carry it out, so that no store restarts without its leaders, and leaders do not spread.", byOther, leadersKept},
	{"regions-not-moved", Warning, "No store that is removed becomes empty, and the copies of a store that is lost are not made again.", byOther, regionsKept},
	{"log-backup-paused", Warning, "The cluster cannot be restored to a time after that, and after gc-ttl, a day by default, the backup cannot go on.", byPerson, reported(event.LogBackupPaused)},
	{"log-backup-behind", Warning, "The cluster cannot be restored to a time after that.", byPerson, reported(event.LogBackupBehind)},
	{"backup-schedule-failed", Warning, "The schedule has made no backup since its last success.", byPerson, schedulesFailed},
	{"backup-schedule-suspended", Info, "No backup is made before a person ends that.", byPerson, schedulesSuspended},
	{"ddl-paused", Warning, "DDL statements of users wait until the pause ends.", byOther, ddlPaused},
	{"restore-settings", Warning, "PD does not balance the stores, and merges no regions, until the settings are put back.", byOther, restoreSettings},
	{"removal-record-left", Info, "The record is of no use any more.", notNow, undriven(removalsLeft)},
	{"drain-record-left", Info, "The record is of no use any more.", notNow, undriven(drainsLeft)},
	{"operator-mark-left", Warning, "A tidb-operator that drives the cluster later takes its old mark for a drain or an eviction that has just begun.", byOther, undriven(marksLeft)},
	{"claim-mark-left", Warning, "A claim that is marked as left over may be deleted, with the data in it.", notNow, undriven(claimMarks)},
	{"claim-left", Info, "The claim keeps its volume, which costs money, and data that nobody reads.", "data is deleted only if a person names it", claimsLeft},
	{"claim-being-deleted", Error, "The data in it is lost when the pod ends, for whatever reason.", byDriver, claimsDeleted},
	{"failover-record-left", Warning, "The component has one member more than is asked for, until the record is gone.", notNow, undriven(failuresLeft)},
}

// asked are the rules about what is not as the spec asks for.
var asked = []rule{
	{"not-driven", Warning, "The cluster is not what its spec asks for, and no process works on that.", byDriver, undriven(notDriven)},
	{"object-differs", Warning, "Somebody has changed the object, or the spec was changed and nobody has applied it.", byDriver, undriven(unlessCanary(driftedObjects))},
	{"pods-outdated", Warning, "They run with another template than the others will after their next restart.", byDriver, undriven(unlessCanary(outdated))},
	{"restart-pending", Warning, "The next run or daemon restarts them, whatever it was started for.", byDriver, undriven(unlessCanary(restartsPending))},
	{"replacement-pending", Warning, "The next run or daemon replaces them with their data, whatever it was started for.", byDriver, undriven(replacementsPending)},
	{"replicas-differ", Warning, "The component is smaller or larger than is asked for.", byDriver, undriven(replicas)},
	{"versions-differ", Warning, "Members of several versions are meant to run together only during an upgrade.", byDriver, undriven(unlessCanary(versions))},
	{"canary-held", Info, "Members of several versions or configurations run together until a person promotes the canary or takes it back.", byPerson, canaryHeld},
	{"canary-unreadable", Warning, "No rollout restarts a member until the annotation is corrected or removed.", byPerson, reported(event.CanaryUnreadable)},
	{"configuration-not-applied", Warning, "The next restart, whatever its cause, is the first test of the new configuration.", byDriver, unapplied},
	{"configuration-not-asked", Info, "What is in use is written down nowhere but in the cluster itself.", byPerson, reported(event.ConfigurationNotAsked)},
	{"restore-settings", Info, "They are meant for the time of a restore, and make the cluster slower or less safe.", byOther, reported(event.RestoreSettings)},
	{"newer-template", Info, "This version leaves the template as it is, and does not know all of it.", byPerson, reported(event.NewerTemplate)},
	{"template-of-others", Info, "The pods run what a webhook or another tool has put into the template.", byPerson, reported(event.TemplateOfOthers)},
	{"certificate-ends", Warning, "After that members do not accept each other, and clients are refused.", byPerson, reported(event.CertificateEnds)},
	{"authority-ends", Warning, "After that nothing that it has signed is accepted.", byPerson, reported(event.AuthorityEnds)},
	{"certificate-names", Warning, "SQL clients that verify the name of the server are refused.", byPerson, reported(event.CertificateNames)},
	{"certificate-older", Warning, "A member that goes on with an old certificate is refused when that one ends.", byPerson, reported(event.CertificateOlder)},
	{"claims-not-kept", Warning, "Kubernetes deletes the data of pods that a scale-in or a suspension takes away, and neither can be carried out.", byPerson, claimsNotKept},
	{"paused-long", Warning, "Nothing is repaired, scaled or upgraded meanwhile.", byPerson, pausedLong},
}

// redundancy are the rules about what one lost host or zone would cost.
var redundancy = []rule{
	{"pd-single", Warning, "Without it nothing can be changed, and no client can begin a transaction; its data exists once.", byPerson, oneVoter},
	{"pd-even", Warning, "An even number of members can lose no more of them than one member less could.", byPerson, evenVoters},
	{"tidb-single", Warning, "Clients are disconnected and refused whenever it restarts.", byPerson, oneServer},
	{"stores-too-few", Error, "PD cannot make all copies that it is asked for, so that one lost store may be lost data.", byPerson, fewStores},
	{"stores-no-spare", Info, "With one store lost PD has no place for new copies, and no store can be removed.", byPerson, noSpare},
	{"max-replicas-low", Warning, "With fewer than three copies one lost store is lost data, or regions that do not serve.", byPerson, fewCopies},
	{"disruption-budget-missing", Info, "A drain of several nodes may evict several members at once, and PD or regions lose their quorum.", notNow, budgetsMissing},
	{"disruption-budgets-overlap", Warning, "Kubernetes refuses to evict a pod that several budgets select, so that no drain of its node ends.", byPerson, budgetsOverlap},
	{"stores-on-one-node", Warning, "If the node is lost, regions lose more than one copy, and may not serve.", byPerson, sharedNodes},
	{"pd-on-one-node", Warning, "If the node is lost, PD may have no quorum.", byPerson, sharedVoters},
	{"stores-in-one-zone", Info, "If the zone is lost, so is the database.", byPerson, oneZone},
	{"location-labels-missing", Warning, "PD does not know of zones and hosts, and may put all copies of a region into one.", byPerson, noLocations},
	{"isolation-level-none", Info, "Where stores are short in one zone, PD puts copies of a region into the same one.", byPerson, noIsolation},
	{"placement-rules-off", Error, "PD accepts no store of TiFlash without its placement rules.", byPerson, rulesOff},
}

// unknowns are the rules about what could not be read.
var unknowns = []rule{
	{"pd-unknown", Unknown, "What PD knows of members, stores and schedulers was not checked.", byReader, pdUnknown},
	{"schedulers-unknown", Unknown, "PD has not loaded its schedulers, so left-overs among them are not seen.", byReader, schedulersUnknown},
	{"member-unknown", Unknown, "Whether it serves is not known.", byReader, membersUnknown},
	{"driver-unknown", Unknown, "What a driver has in PD for a while is not distinguished from what was left.", byReader, driverUnknown},
	{"log-backups-unknown", Unknown, "A log backup that is paused or behind is not seen.", byReader, logBackupsUnknown},
	{"backup-schedules-unknown", Info, "A schedule of backups that fails is not seen.", byReader, schedulesUnknown},
	{"disruption-budgets-unknown", Info, "Whether a drain may evict several members at once is not seen.", byReader, budgetsUnknown},
	{"claims-unknown", Unknown, "Claims that nobody needs are not seen.", byReader, claimsUnknown},
	{"not-read", Unknown, "What could not be read was not checked.", byReader, gaps},
}

package event

// NoticeReason names what a notice is about. The names are a contract
// (docs/reference/reasons.md): they stay, and messages may change.
type NoticeReason string

// The reasons of notices. NoticeReasons says what each of them means.
const (
	SpecWarning    NoticeReason = "SpecWarning"
	FirstStep      NoticeReason = "FirstStep"
	NothingToDo    NoticeReason = "NothingToDo"
	SettingChanged NoticeReason = "SettingChanged"
	ChangeUnderway NoticeReason = "ChangeUnderway"

	DriverCheck     NoticeReason = "DriverCheck"
	FollowingDriver NoticeReason = "FollowingDriver"
	LeftToDriver    NoticeReason = "LeftToDriver"
	TakingOver      NoticeReason = "TakingOver"
	DrivingStopped  NoticeReason = "DrivingStopped"
	DrivingResumed  NoticeReason = "DrivingResumed"
	PauseEnded      NoticeReason = "PauseEnded"

	OperatorsNotListed   NoticeReason = "OperatorsNotListed"
	OperatorScopeUnknown NoticeReason = "OperatorScopeUnknown"
	OperatorIdle         NoticeReason = "OperatorIdle"

	NotReadable      NoticeReason = "NotReadable"
	UndoFailed       NoticeReason = "UndoFailed"
	LeaseNotReleased NoticeReason = "LeaseNotReleased"
	StatusNotWritten NoticeReason = "StatusNotWritten"
	UpkeepFailed     NoticeReason = "UpkeepFailed"
	StepHeldBack     NoticeReason = "StepHeldBack"

	ForeignScheduler        NoticeReason = "ForeignScheduler"
	BegunBeforePause        NoticeReason = "BegunBeforePause"
	NodeMaintained          NoticeReason = "NodeMaintained"
	VolumeLost              NoticeReason = "VolumeLost"
	RegionsLackCopies       NoticeReason = "RegionsLackCopies"
	CanaryUnreadable        NoticeReason = "CanaryUnreadable"
	LogBackupNotFlushed     NoticeReason = "LogBackupNotFlushed"
	LogBackupPaused         NoticeReason = "LogBackupPaused"
	LogBackupBehind         NoticeReason = "LogBackupBehind"
	DDLPaused               NoticeReason = "DDLPaused"
	DDLNotPaused            NoticeReason = "DDLNotPaused"
	RestoreSettings         NoticeReason = "RestoreSettings"
	ConfigurationNotAsked   NoticeReason = "ConfigurationNotAsked"
	ConfigurationNotApplied NoticeReason = "ConfigurationNotApplied"
	NewerTemplate           NoticeReason = "NewerTemplate"
	TemplateOfOthers        NoticeReason = "TemplateOfOthers"
	CertificateEnds         NoticeReason = "CertificateEnds"
	AuthorityEnds           NoticeReason = "AuthorityEnds"
	CertificateNames        NoticeReason = "CertificateNames"
	CertificateOlder        NoticeReason = "CertificateOlder"
)

// NoticeMeaning is a reason of notices with what it stands for.
type NoticeMeaning struct {
	Reason NoticeReason
	Text   string
}

// NoticeReasons returns all reasons of notices, in the order in which a reader meets them. The
// order is: the request, the driver, tidb-operator, what failed, what others have changed.
func NoticeReasons() []NoticeMeaning {
	return []NoticeMeaning{
		{SpecWarning, "the spec is accepted, but something in it may not work as asked"},
		{FirstStep, "a dry run names a step with which the run would begin"},
		{NothingToDo, "the command has nothing to do, and changes nothing"},
		{SettingChanged, "a setting that PD keeps itself was changed there, or with --dry-run would be"},
		{ChangeUnderway, "an earlier change of the spec is not carried out yet, and this one is carried out together with it"},
		{DriverCheck, "the check whether another command or a tidb-operator drives the cluster takes long"},
		{FollowingDriver, "another process drives the cluster; this one makes no changes"},
		{LeftToDriver, "another process drives the cluster, and this one ends, since it was not to wait"},
		{TakingOver, "the other process drives the cluster no more; this one drives it now"},
		{DrivingStopped, "a tidb-operator drives the cluster now; this process makes no more changes"},
		{DrivingResumed, "the API server did not answer for long; this process drives the cluster again"},
		{PauseEnded, "the time of a pause was over, and this process has ended it"},
		{OperatorsNotListed, "not all namespaces can be searched for a tidb-operator"},
		{OperatorScopeUnknown, "which clusters a tidb-operator drives cannot be read"},
		{OperatorIdle, "a tidb-operator drives the cluster, but changes nothing"},
		{NotReadable, "an object cannot be read that the decision can do without"},
		{UndoFailed, "what this process has changed in PD for a step could not be undone"},
		{LeaseNotReleased, "the lease of the cluster could not be released"},
		{StatusNotWritten, "the status of the TidbCluster could not be written"},
		{UpkeepFailed, "a step failed that nothing waits for"},
		{StepHeldBack, "a step is not taken, because one that comes before it failed"},
		{ForeignScheduler, "another user or tool has made an evict-leader scheduler for a store"},
		{BegunBeforePause, "a run has begun something that stays as it is while the cluster is paused"},
		{NodeMaintained, "a node with members is under maintenance"},
		{RegionsLackCopies, "the cluster has converged, and PD has yet to make copies of some regions"},
		{VolumeLost, "a volume of a member does not exist, or can be used only on nodes that do not exist"},
		{CanaryUnreadable, "the annotation that asks for a canary cannot be followed, so that all rollouts are held"},
		{LogBackupNotFlushed, "a store has restarted without having flushed its log backup"},
		{LogBackupPaused, "a log backup (point-in-time recovery) is paused"},
		{LogBackupBehind, "a log backup (point-in-time recovery) is more than a quarter of an hour behind"},
		{DDLPaused, "DDL statements of users wait for an upgrade of TiDB to end"},
		{DDLNotPaused, "TiDB servers are restarted onto another version without a pause of DDL statements"},
		{RestoreSettings, "the configuration has settings of a restore"},
		{ConfigurationNotAsked, "the configuration in use is not the default, though the spec asks for none"},
		{ConfigurationNotApplied, "members run with an older configuration than the one that is written"},
		{CertificateEnds, "a certificate ends within two weeks"},
		{AuthorityEnds, "an authority that has signed certificates ends within two weeks"},
		{CertificateNames, "the certificate for SQL clients has no name of a Service by which they connect"},
		{CertificateOlder, "a member shows another certificate than the one in its Secret"},
		{NewerTemplate, "a newer version of the plugin has written the pod template"},
		{TemplateOfOthers, "a webhook or another tool changes the pod template after each write, so that it stays as it is"},
	}
}

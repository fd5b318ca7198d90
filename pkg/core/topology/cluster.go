package topology

import (
	"slices"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Cluster is what the user wants of one TiDB cluster. A Cluster is a value: nothing changes it after New has returned.
type Cluster struct {
	Namespace string
	Name      string
	UID       types.UID
	// Instance is the value of the label app.kubernetes.io/instance: the TidbCluster's own label,
	// also if it is empty, else its name.
	Instance  string
	Domain    string // spec.clusterDomain
	AcrossK8s bool
	Joined    Joined // spec.cluster
	// PDAddresses are URLs of members of a PD that runs elsewhere, which PD's first members join (spec.pdAddresses).
	PDAddresses []string
	TLS         TLS
	Paused      bool
	Pause       Pause // of a cluster that is paused
	DDLPause    DDLPause
	// Maintained are the nodes under maintenance that had members when that began.
	Maintained []Maintenance
	// Canary is the annotation that asks for a canary, "" for none.
	Canary string
	// CanaryProblem is why the annotation cannot be followed, "" where it can or there is none. All rollouts are held
	// then.
	CanaryProblem string
	// Advanced: the StatefulSets of the cluster are AdvancedStatefulSets. Only an observation says so.
	Advanced bool
	// Deleting: the TidbCluster is being deleted, and nothing may be created for it.
	Deleting bool
	// VolumePolicy says what happens to a volume when its claim is deleted (spec.pvReclaimPolicy).
	VolumePolicy corev1.PersistentVolumeReclaimPolicy
	// Reclaims: claims of members that were removed are deleted, and their
	// volumes with them (spec.enablePVReclaim).
	Reclaims bool
	Groups   []Group // the components in the spec, in the order of Kinds
	// Written is the TidbCluster as the user has written it, without defaults. It is the one that
	// is validated.
	Written *v1alpha1.TidbCluster
	// Source is the defaulted TidbCluster that objects are rendered from. It is never
	// written back: defaults do not belong in the user's spec.
	Source *v1alpha1.TidbCluster
}

// Group is what the user wants of one component.
type Group struct {
	Kind     Kind
	Replicas int // what the user asks for; see Size
	// Start is the ordinal of the first pod, as spec.ordinals.start of the live StatefulSet says. It is 0 where no
	// StatefulSet was read.
	Start int
	// Slots are ordinals that are left out, the lowest first (annotation <kind>.tidb.pingcap.com/delete-slots). An
	// observation removes them where the StatefulSets cannot have slots, and such a TidbCluster is refused.
	Slots []int
	// Failures are the members that a failover has replaced or will replace.
	Failures []Failure
	// MaxFailures bounds them; with 0 there is no failover
	// (spec.<kind>.maxFailoverCount).
	MaxFailures int
	// FailoverUID is the UID of all failovers together, where they have one (TiKV).
	FailoverUID types.UID
	// Configured: the user gives a configuration, which may be empty (spec.<kind>.config).
	Configured bool
	// Asked is a digest of what the user's spec says about the component's pods. It leaves out the number of replicas
	// and other fields that no pod depends on.
	Asked string
	// Unknown are fields of the spec that the pods may depend on and that this version does not know. A later
	// definition of TidbCluster has such fields.
	Unknown []string
	Image   string
	Version string // the image's tag, "" without one
	// StoreLabels are labels of a store's node that the store carries as well (TiKV; spec.tikv.storeLabels). The store
	// also carries the labels by which PD spreads replicas.
	StoreLabels []string
	// ScaleOut and ScaleIn are how many members may be joining, or leaving, at
	// the same time (spec.<kind>.scalePolicy). They are at least 1, and 1 where
	// the component has no such field.
	ScaleOut, ScaleIn int
	// Recover: the user wants replacements to be removed when the members that they replace are
	// back (TiKV; spec.tikv.recoverFailover, failover.recoverByUID).
	Recover bool
	// Volumes are the claims that each member has, the one with its data first.
	Volumes []Volume
	// EvictTimeout limits the wait for a store's leaders to leave (TiKV; spec.tikv.evictLeaderTimeout). After it the
	// store is restarted anyway; nil for no limit.
	EvictTimeout *time.Duration
	// FlushesLog: a store flushes its log backup before it is restarted (TiKV; annotation
	// tidb.pingcap.com/tikv-restart-without-flush-log-backup).
	FlushesLog bool
	// PausesDDL: upgrades pause the DDL statements of users where TiDB can do that (TiDB; annotation
	// kubectl-tidb/ddl-pause).
	PausesDDL bool
	// DrainTimeout bounds the wait for tables to leave a capture before it is restarted or removed
	// anyway (TiCDC; spec.ticdc.gracefulShutdownTimeout).
	DrainTimeout time.Duration
	// Binlog: TiDB writes a binlog to Pump (TiDB and Pump; spec.tidb.binlogEnabled).
	Binlog bool
	// FirstPassword: root is to get a random password, and the status does not record one yet (TiDB;
	// spec.tidb.initializer.createPassword, status.tidb.passwordInitialized).
	FirstPassword bool
	// MinReady is how long a restarted pod has to be Ready before the next
	// one is restarted (annotation tidb.pingcap.com/<kind>-min-ready-seconds).
	MinReady time.Duration
	// Suspend: the user wants the component to have no pods for now, and to keep all of its data.
	Suspend bool
	// InPlace: a change of the configuration is written, and restarts no member
	// (configUpdateStrategy).
	InPlace bool
	// Manual: the user replaces the pods (OnDelete).
	Manual bool
	// Restarts are the members that were asked to restart by their names, also those that have restarted
	// since.
	Restarts map[string]MemberRestart
	// Replacements are the members that were asked to get new volumes by their names, also those that have new ones
	// since.
	Replacements map[string]MemberReplacement
	// ReplacesVolumes: members whose claims cannot become as the spec says are replaced without a request for them. The spec
	// asks for that (enablePVCReplace).
	ReplacesVolumes bool
	// VolumesBegun: tidb-operator has begun to replace members for that (volReplaceInProgress in the status).
	VolumesBegun bool
	// VolumeSpare: there is one member more while members are replaced for that (spareVolReplaceReplicas).
	VolumeSpare bool
	// Held: a rollout restarts Canary of the members, and stops until it is promoted (annotation
	// kubectl-tidb/canary).
	Held   bool
	Canary int
}

// Numbered returns a cluster whose ordinals are those that its StatefulSets can have. start returns the ordinal of a
// component's first pod.
func (c Cluster) Numbered(advanced bool, start func(Kind) int) Cluster {
	c.Advanced, c.Groups = advanced, slices.Clone(c.Groups)
	for i := range c.Groups {
		g := &c.Groups[i]
		g.Start = start(g.Kind)
		if !advanced {
			g.Slots = nil
		}
	}
	return c
}

// Group returns a component that the user wants.
func (c Cluster) Group(k Kind) (Group, bool) {
	for _, g := range c.Groups {
		if g.Kind == k {
			return g, true
		}
	}
	return Group{}, false
}

package backup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// annRun has which run of a schedule or a pipeline has made a Backup.
const annRun = "kubectl-tidb/run"

// Outcome is a backup that is complete.
type Outcome struct {
	TS        uint64 // as it was read from the backup
	Size      int64
	Started   time.Time
	Completed time.Time
}

// Record returns the Backup of a backup that is complete. tidb-operator changes no Backup that is Complete, and
// reads this one for a restore.
func (r Request) Record(o Outcome) *v1alpha1.Backup {
	at := metav1.NewTime(o.Completed)
	b := &v1alpha1.Backup{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Backup"},
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Cluster.Namespace, Name: r.Name, Labels: map[string]string{
			"app.kubernetes.io/managed-by": backedUpBy, "app.kubernetes.io/instance": r.Cluster.Instance,
		}},
		Spec: v1alpha1.BackupSpec{
			Mode: v1alpha1.BackupModeSnapshot, Type: v1alpha1.BackupTypeFull, CleanPolicy: v1alpha1.CleanPolicyTypeRetain,
			StorageProvider: r.storage(r.Secret), ToolImage: r.Tool, ServiceAccount: r.Account,
			BR: &v1alpha1.BRConfig{
				Cluster: r.Cluster.Name, ClusterNamespace: r.Cluster.Namespace, DB: r.DB, Table: r.Table, Checksum: r.Checksum,
			},
		},
		Status: v1alpha1.BackupStatus{
			BackupPath: r.Path(), TimeStarted: metav1.NewTime(o.Started), TimeCompleted: at,
			TimeTaken:  o.Completed.Sub(o.Started).Round(time.Second).String(),
			BackupSize: o.Size, BackupSizeReadable: Readable(o.Size), CommitTs: strconv.FormatUint(o.TS, 10),
			Phase: v1alpha1.BackupComplete,
			Conditions: []v1alpha1.BackupCondition{
				{Type: v1alpha1.BackupComplete, Status: corev1.ConditionTrue, LastTransitionTime: at},
			},
		},
	}
	if r.Run != "" {
		b.Annotations = map[string]string{annRun: r.Run}
	}
	if r.RateLimit > 0 {
		limit := r.RateLimit
		b.Spec.BR.RateLimit = &limit
	}
	switch {
	case r.Table != "":
		b.Spec.Type = v1alpha1.BackupTypeTable
	case r.DB != "":
		b.Spec.Type = v1alpha1.BackupTypeDB
	}
	return b
}

// Readable returns a number of bytes as status.backupSizeReadable has it: in decimal units.
func Readable(bytes int64) string {
	if bytes < 1000 {
		return fmt.Sprintf("%d B", bytes)
	}
	size, unit := float64(bytes), 0
	for size >= 1000 && unit < len(units)-1 {
		size, unit = size/1000, unit+1
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

var units = []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}

// Holder returns the complete Backup that has been written to a path of the same storage, "" for none.
func (r Request) Holder(all []v1alpha1.Backup) string {
	for i := range all {
		b := &all[i]
		s3 := b.Spec.S3
		if b.Status.BackupPath == r.Path() && b.DeletionTimestamp == nil && s3 != nil && s3.Endpoint == r.Endpoint {
			return name(b)
		}
	}
	return ""
}

// MadeBy returns the complete Backup that a run has made of the same data of the cluster in a prefix, nil for none. A
// Backup of an earlier cluster of the same name does not count.
func (a Asked) MadeBy(c topology.Cluster, in Destination, all []v1alpha1.Backup) *v1alpha1.Backup {
	i := slices.IndexFunc(all, func(b v1alpha1.Backup) bool {
		isOfRun := b.Annotations[annRun] == a.Run && in.Holds(&b) && about(c.Source, &b) && b.Spec.BR.DB == a.DB && b.Spec.BR.Table == a.Table
		isWhole := b.Status.Phase == v1alpha1.BackupComplete && !isBeingDeleted(&b) && b.Annotations[AnnotationDamaged] == ""
		return isOfRun && isWhole && !data(&b).Before(c.Source.CreationTimestamp.Time)
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

// Holds reports whether a Backup is in the folder of a destination that was made for the Backup, and has its name. Another
// folder may be of a backup that a person has made, and a folder of a folder of another schedule.
func (d Destination) Holds(b *v1alpha1.Backup) bool {
	s3 := b.Spec.S3
	return s3 != nil && s3.Endpoint == d.Endpoint && b.Status.BackupPath == d.Path()+"/"+b.Name
}

// Outer returns a Backup at a destination or above it, "" for none. Backups in folders of the destination could not be
// deleted, because FilesOf refuses that.
func (d Destination) Outer(all []v1alpha1.Backup) string {
	for i := range all {
		s3 := all[i].Spec.S3
		if s3 == nil || s3.Bucket != d.Bucket {
			continue
		}
		if at := strings.Trim(s3.Prefix, "/"); at == d.Prefix || strings.HasPrefix(d.Prefix, at+"/") {
			return name(&all[i])
		}
	}
	return ""
}

// IsOf reports whether a Backup is complete and has what a status says: the same data at the same place.
func IsOf(b *v1alpha1.Backup, status v1alpha1.BackupStatus) bool {
	return b.Status.Phase == v1alpha1.BackupComplete && b.Status.BackupPath == status.BackupPath && b.Status.CommitTs == status.CommitTs
}

// ScopeOf says what a Backup has.
func ScopeOf(b *v1alpha1.Backup) string {
	s := b.Spec
	switch {
	case s.Mode == v1alpha1.BackupModeLog:
		return "the log"
	case s.BR == nil:
		return "a dump"
	case len(s.TableFilter) > 0:
		return "tables of " + strings.Join(s.TableFilter, ", ")
	}
	return Asked{DB: s.BR.DB, Table: s.BR.Table}.Scope()
}

// DataOf returns the moment whose data a Backup has; zero where it is not known.
func DataOf(b *v1alpha1.Backup) time.Time {
	if at := data(b); at.Unix() > 0 {
		return at
	}
	return time.Time{}
}

// Why returns why a Backup has failed, "" where it has not.
func Why(b *v1alpha1.Backup) string {
	if b.Status.Phase == v1alpha1.BackupComplete {
		return ""
	}
	for _, c := range b.Status.Conditions {
		if c.Type == b.Status.Phase && c.Message != "" {
			return strings.TrimPrefix(c.Reason+": "+c.Message, ": ")
		}
	}
	return ""
}

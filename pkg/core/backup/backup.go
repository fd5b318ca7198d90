// Package backup decides from the Backups of tidb-operator whether a cluster has a backup. The backup
// must be complete, whole and new enough.
//
// It is pure. The question is whether the cluster could be restored as it was a short time ago,
// because an upgrade cannot be taken back. A Backup does not count where that is not certain.
package backup

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// Found is what Backups say about one cluster.
type Found struct {
	// Newest is the backup with the newest data of those that count, "" for none. Data is the moment
	// whose data it has.
	Newest string
	Data   time.Time
	// Others are the other Backups of the cluster that do not count, a line each, the newest first.
	Others []string
}

// Of looks for the backups of a cluster.
func Of(tc *v1alpha1.TidbCluster, all []v1alpha1.Backup) Found { return look(tc, all, flaw) }

// DrilledOf looks for the backups of a cluster with which a drill has succeeded.
func DrilledOf(tc *v1alpha1.TidbCluster, all []v1alpha1.Backup) Found {
	return look(tc, all, func(tc *v1alpha1.TidbCluster, b *v1alpha1.Backup) string {
		if why := flaw(tc, b); why != "" || DrilledAt(b) != "" {
			return why
		}
		return "was not restored by a drill"
	})
}

// look sorts the backups of a cluster into those that count and those that do not.
func look(tc *v1alpha1.TidbCluster, all []v1alpha1.Backup, flaw func(*v1alpha1.TidbCluster, *v1alpha1.Backup) string) Found {
	all = slices.DeleteFunc(slices.Clone(all), func(b v1alpha1.Backup) bool { return !about(tc, &b) })
	slices.SortStableFunc(all, func(a, b v1alpha1.Backup) int {
		return cmp.Or(data(&b).Compare(data(&a)), cmp.Compare(name(&a), name(&b)))
	})
	var f Found
	for i := range all {
		b := &all[i]
		why := flaw(tc, b)
		switch {
		case why != "":
			f.Others = append(f.Others, name(b)+" "+why)
		case f.Newest == "":
			f.Newest, f.Data = name(b), data(b)
		}
	}
	return f
}

// Lacks returns why there is no backup with data that is newer than an age, "" where there is one.
func (f Found) Lacks(now time.Time, age time.Duration) string {
	switch {
	case f.Newest != "" && now.Sub(f.Data) <= age:
		return ""
	case f.Newest != "":
		return fmt.Sprintf("the newest is %s, with the data of %s (%s ago)",
			f.Newest, f.Data.UTC().Format(time.RFC3339), state.Age(now.Sub(f.Data)))
	case len(f.Others) > 0:
		return "none counts: " + remedy.FirstFew(f.Others, "; ")
	}
	return "it has none"
}

func name(b *v1alpha1.Backup) string { return b.Namespace + "/" + b.Name }

// about reports whether a Backup is one of a cluster. One that Dumpling makes names a server, and no
// cluster.
func about(tc *v1alpha1.TidbCluster, b *v1alpha1.Backup) bool {
	br := b.Spec.BR
	return br != nil && br.Cluster == tc.Name && cmp.Or(br.ClusterNamespace, b.Namespace) == tc.Namespace
}

// flaw returns why a Backup does not count, "" for one that does.
func flaw(tc *v1alpha1.TidbCluster, b *v1alpha1.Backup) string {
	switch {
	case isBeingDeleted(b):
		return "is being deleted"
	case b.Annotations[AnnotationDamaged] != "":
		return "was found damaged"
	case b.Spec.Mode == v1alpha1.BackupModeLog:
		return "is a log backup, which can only be restored onto a full one"
	case b.Spec.FederalVolumeBackupPhase != "":
		return "is one part of a backup across several Kubernetes clusters"
	case b.Spec.Mode != v1alpha1.BackupModeVolumeSnapshot && !hasAllTables(&b.Spec):
		return "is not of the whole cluster"
	case incremental(b.Spec.BR):
		return "is incremental"
	case !has(b, v1alpha1.BackupComplete):
		return "is not complete: it is " + cmp.Or(string(b.Status.Phase), "not begun")
	case data(b).IsZero():
		return "does not say when it was made"
	case data(b).Before(tc.CreationTimestamp.Time):
		return "is older than this cluster, so it is of an earlier one of the same name"
	}
	return ""
}

// has reports whether a condition of a Backup is true.
func has(b *v1alpha1.Backup, what v1alpha1.BackupConditionType) bool {
	return slices.ContainsFunc(b.Status.Conditions, func(c v1alpha1.BackupCondition) bool {
		return c.Type == what && c.Status == corev1.ConditionTrue
	})
}

// hasAllTables reports whether a Backup by BR has all databases and tables.
func hasAllTables(s *v1alpha1.BackupSpec) bool {
	full := s.Type == "" || s.Type == v1alpha1.BackupTypeFull
	all := len(s.TableFilter) == 0 || slices.Equal(s.TableFilter, []string{"*.*"})
	return full && all && s.BR.DB == "" && s.BR.Table == ""
}

// incremental reports whether BR saves only what has changed since an earlier backup. A restore needs
// the earlier backup.
func incremental(br *v1alpha1.BRConfig) bool {
	return slices.ContainsFunc(br.Options, func(o string) bool { return strings.HasPrefix(strings.TrimSpace(o), "--lastbackupts") })
}

// logical is how many bits of a timestamp of TiDB are below its milliseconds.
const logical = 18

// data returns the moment whose data a backup has; zero where it is not known. A backup that takes
// hours has the data of its begin.
func data(b *v1alpha1.Backup) time.Time {
	if ts, err := strconv.ParseInt(b.Status.CommitTs, 10, 64); err == nil && ts>>logical > 0 {
		return time.UnixMilli(ts >> logical)
	}
	if !b.Status.TimeStarted.IsZero() {
		return b.Status.TimeStarted.Time
	}
	return b.Status.TimeCompleted.Time
}

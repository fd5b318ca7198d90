package backup

import (
	"cmp"
	"slices"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// Retention is which backups of a cluster are kept.
type Retention struct {
	// Last is how many of the newest ones are kept, and Within how old the data of others may be. Zero is no limit.
	Last   int
	Within time.Duration
}

// scheduledBy is the label of a Backup that a BackupSchedule of tidb-operator has made, and deletes.
const scheduledBy = "tidb.pingcap.com/backup-schedule"

// Expired returns the names of the Backups that are not kept any more, the oldest first. Only backups that could restore
// the cluster count and are deleted: a newer backup that has failed replaces no older one. The newest one is always kept.
// A Backup is kept when either limit keeps it. Backups of databases and tables, of a BackupSchedule, and those in other
// namespaces are left.
func (r Retention) Expired(tc *v1alpha1.TidbCluster, all []v1alpha1.Backup, now time.Time) []string {
	good := slices.DeleteFunc(slices.Clone(all), func(b v1alpha1.Backup) bool { return !about(tc, &b) || flaw(tc, &b) != "" })
	slices.SortStableFunc(good, func(a, b v1alpha1.Backup) int {
		return cmp.Or(data(&b).Compare(data(&a)), cmp.Compare(name(&a), name(&b)))
	})
	var names []string
	for i := range good {
		b := &good[i]
		young := r.Within > 0 && now.Sub(data(b)) <= r.Within
		if i < max(r.Last, 1) || young || b.Labels[scheduledBy] != "" || b.Namespace != tc.Namespace || Undeletable(b) != "" {
			continue
		}
		names = append(names, b.Name)
	}
	slices.Reverse(names)
	return names
}

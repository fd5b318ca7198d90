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
	// In is the prefix whose backups count, nil for all.
	In *Destination
}

// scheduledBy is the label of a Backup that a BackupSchedule of tidb-operator has made, and deletes.
const scheduledBy = "tidb.pingcap.com/backup-schedule"

// Expired returns the names of the Backups that are not kept any more: those whose deletion was begun, then the oldest
// ones. Only backups that could restore the cluster count and are deleted: a newer backup that has failed or is damaged
// replaces no older one. A Backup is kept when either limit keeps the Backup. Always kept are the newest Backup, the
// newest that was drilled or verified, and what an incremental backup needs. With a prefix, the newest ones are those of
// the prefix. Backups of databases and tables, of a BackupSchedule, and those in other namespaces are left.
func (r Retention) Expired(tc *v1alpha1.TidbCluster, all []v1alpha1.Backup, now time.Time) []string {
	all = slices.DeleteFunc(slices.Clone(all), func(b v1alpha1.Backup) bool { return !about(tc, &b) })
	slices.SortStableFunc(all, func(a, b v1alpha1.Backup) int {
		return cmp.Or(data(&b).Compare(data(&a)), cmp.Compare(name(&a), name(&b)))
	})
	var begun, names []string
	count, proven, needed := 0, false, false
	for i := range all {
		b := &all[i]
		if incremental(b.Spec.BR) {
			needed = true // by this one, which is newer than its base
		}
		switch {
		case !r.covers(b):
			continue
		case flaw(tc, b) != "":
			if IsMarked(b) && isOurs(tc, b) {
				begun = append(begun, b.Name)
			}
			continue
		}
		isProof := !proven && (DrilledAt(b) != "" || VerifiedOf(b) != "")
		young := r.Within > 0 && now.Sub(data(b)) <= r.Within
		if count >= max(r.Last, 1) && !young && !isProof && !needed && isOurs(tc, b) {
			names = append(names, b.Name)
		}
		count, proven, needed = count+1, proven || isProof, false
	}
	slices.Reverse(names)
	return append(begun, names...)
}

// covers reports whether a Backup is in the prefix whose backups count.
func (r Retention) covers(b *v1alpha1.Backup) bool { return r.In == nil || r.In.Holds(b) }

// isOurs reports whether a Backup may be deleted here, as far as its object says that.
func isOurs(tc *v1alpha1.TidbCluster, b *v1alpha1.Backup) bool {
	return b.Namespace == tc.Namespace && b.Labels[scheduledBy] == "" && Undeletable(b) == ""
}

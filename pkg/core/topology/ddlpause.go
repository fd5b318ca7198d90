package topology

import (
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// Annotations of a TidbCluster that record a pause of DDL. tidb-operator has the same annotations from v1.6.6 on, so
// that either driver can end a pause that the other driver has begun. The first one says that there is a pause.
const (
	annDDLPaused = "tidb.pingcap.com/smooth-upgrade-ddl-paused"
	annDDLSince  = "tidb.pingcap.com/smooth-upgrade-started-at"
	annDDLFrom   = "tidb.pingcap.com/smooth-upgrade-source-version"
	annDDLTo     = "tidb.pingcap.com/smooth-upgrade-target-version"
)

// AnnotationDDLPause is on a TidbCluster whose user decides whether upgrades of TiDB pause DDL statements. With "false"
// none does.
const AnnotationDDLPause = "kubectl-tidb/ddl-pause"

// DDLPause is a pause of the DDL statements of users that was begun in TiDB for an upgrade. TiDB itself knows no
// time at which the pause ends: without somebody who ends it, no table can be changed any more.
type DDLPause struct {
	// Recorded: the TidbCluster says that there is one.
	Recorded bool
	Since    time.Time // zero where that is not known
	From, To string    // the versions of the upgrade, "" where they are not known
}

// ddlPauseOf returns the pause that a TidbCluster records.
func ddlPauseOf(tc *v1alpha1.TidbCluster) DDLPause {
	if tc.Annotations[annDDLPaused] != "true" {
		return DDLPause{}
	}
	since, _ := time.Parse(time.RFC3339, tc.Annotations[annDDLSince]) // only shown
	return DDLPause{Recorded: true, Since: since, From: tc.Annotations[annDDLFrom], To: tc.Annotations[annDDLTo]}
}

// Annotations returns the record of a pause, as the annotations of a TidbCluster.
func (p DDLPause) Annotations() map[string]string {
	return map[string]string{annDDLPaused: "true", annDDLSince: p.Since.UTC().Format(time.RFC3339), annDDLFrom: p.From, annDDLTo: p.To}
}

// DDLPauseAnnotations are the keys of the record of a pause, which are removed when it has ended.
func DDLPauseAnnotations() []string {
	return []string{annDDLPaused, annDDLSince, annDDLFrom, annDDLTo}
}

// PausesDDL reports whether an upgrade of TiDB between two versions has to ask TiDB for a pause of DDL. These are the
// pairs for which tidb-operator asks. Releases from v7.1.0 to v7.3.0 pause by themselves or not at all. A downgrade is
// no upgrade.
func PausesDDL(from, to string) bool {
	was, err := ParseVersion(from)
	if err != nil {
		return false
	}
	is, err := ParseVersion(to)
	if err != nil || !was.Less(is) {
		return false
	}
	early := was.isBetween("v7.1.2", "v7.2.0")
	return early && is.isBetween("v7.1.2", "v7.2.0") || (early || was.isBetween("v7.4.0", "")) && is.isBetween("v7.4.0", "")
}

// isBetween reports whether a version is at least the first release, and older than the second; "" is no limit.
func (v Version) isBetween(least, before string) bool {
	low, err := ParseVersion(least)
	if err != nil || v.Less(low) {
		return false
	}
	high, err := ParseVersion(before)
	return err != nil || v.Less(high)
}

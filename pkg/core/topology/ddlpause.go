package topology

import (
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// Annotations of a TidbCluster by which tidb-operator, from v1.6.6 on, records a pause of DDL that it has begun. The first
// says that there is one.
const (
	annDDLPaused = "tidb.pingcap.com/smooth-upgrade-ddl-paused"
	annDDLSince  = "tidb.pingcap.com/smooth-upgrade-started-at"
	annDDLFrom   = "tidb.pingcap.com/smooth-upgrade-source-version"
	annDDLTo     = "tidb.pingcap.com/smooth-upgrade-target-version"
)

// DDLPause is a pause of the DDL statements of users that was begun in TiDB for an upgrade. TiDB itself knows no
// time at which the pause ends: without somebody who ends it, no table can be changed any more.
type DDLPause struct {
	// Recorded: the TidbCluster says that there is one.
	Recorded bool
	Since    time.Time // zero where that is not known
}

// ddlPauseOf returns the pause that a TidbCluster records.
func ddlPauseOf(tc *v1alpha1.TidbCluster) DDLPause {
	if tc.Annotations[annDDLPaused] != "true" {
		return DDLPause{}
	}
	since, _ := time.Parse(time.RFC3339, tc.Annotations[annDDLSince]) // only shown
	return DDLPause{Recorded: true, Since: since}
}

// DDLPauseAnnotations are the keys of the record of a pause, which are removed when it has ended.
func DDLPauseAnnotations() []string {
	return []string{annDDLPaused, annDDLSince, annDDLFrom, annDDLTo}
}

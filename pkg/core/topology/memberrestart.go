package topology

import (
	"maps"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// AnnotationRestart is on a TidbCluster of which members were restarted by their names. It is a JSON
// object that has a MemberRestart by the name of each pod.
const AnnotationRestart = "kubectl-tidb/restart"

// MemberRestart asks for the restart of one member. It names the pod that is to be replaced, and not a
// time. The request ends with the pod, no matter who has replaced the pod, and no clock decides.
type MemberRestart struct {
	Pod string    `json:"pod"` // the UID
	At  time.Time `json:"at"`  // when it was asked for
}

// MemberRestarts returns the requests of a TidbCluster by the names of members. It fails if the annotation cannot be read.
func MemberRestarts(tc *v1alpha1.TidbCluster) (map[string]MemberRestart, error) {
	return memberRequests[MemberRestart](tc, AnnotationRestart)
}

// AskMemberRestarts replaces the requests of a TidbCluster.
func AskMemberRestarts(tc *v1alpha1.TidbCluster, all map[string]MemberRestart) {
	all = maps.Clone(all)
	for name, r := range all {
		r.At = r.At.UTC().Truncate(time.Second)
		all[name] = r
	}
	askMembers(tc, AnnotationRestart, all)
}

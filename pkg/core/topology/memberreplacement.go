package topology

import (
	"maps"
	"slices"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// AnnotationReplace is on a TidbCluster of which members were replaced by their names. It is a JSON object that has a
// MemberReplacement by the name of each pod.
const AnnotationReplace = "kubectl-tidb/replace"

// MemberReplacement asks for new volumes of one member. It names the claims that the member has, and not a time. The
// request ends with the claims, no matter who has deleted them, and no clock decides.
type MemberReplacement struct {
	Claims []string  `json:"claims"` // the UIDs
	At     time.Time `json:"at"`     // when it was asked for
	// Spare: the component has one member more until all members whose requests say so are replaced.
	Spare bool `json:"spare,omitempty"`
	// WaitBalanced: the member waits until PD has given the members that were replaced before it their share of regions.
	WaitBalanced bool `json:"waitBalanced,omitempty"`
}

// MemberReplacements returns the requests of a TidbCluster by the names of members. It fails if the annotation cannot be read.
func MemberReplacements(tc *v1alpha1.TidbCluster) (map[string]MemberReplacement, error) {
	return memberRequests[MemberReplacement](tc, AnnotationReplace)
}

// AskMemberReplacements replaces the requests of a TidbCluster.
func AskMemberReplacements(tc *v1alpha1.TidbCluster, all map[string]MemberReplacement) {
	all = maps.Clone(all)
	for name, r := range all {
		r.At = r.At.UTC().Truncate(time.Second)
		all[name] = r
	}
	askMembers(tc, AnnotationReplace, all)
}

// ReplacesClaim reports whether a user has asked for a new claim in place of the one with a UID.
func (g Group) ReplacesClaim(uid string) bool {
	for _, r := range g.Replacements {
		if slices.Contains(r.Claims, uid) {
			return true
		}
	}
	return false
}

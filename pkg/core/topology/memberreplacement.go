package topology

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
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
}

// MemberReplacements returns the requests of a TidbCluster by the names of members. It fails if the annotation cannot
// be read.
func MemberReplacements(tc *v1alpha1.TidbCluster) (map[string]MemberReplacement, error) {
	text, ok := tc.Annotations[AnnotationReplace]
	if !ok {
		return nil, nil
	}
	var all map[string]MemberReplacement
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("decode annotation %s: %w", AnnotationReplace, err)
	}
	return all, nil
}

// AskMemberReplacements replaces the requests of a TidbCluster.
func AskMemberReplacements(tc *v1alpha1.TidbCluster, all map[string]MemberReplacement) {
	if len(all) == 0 {
		delete(tc.Annotations, AnnotationReplace)
		return
	}
	all = maps.Clone(all)
	for name, r := range all {
		r.At = r.At.UTC().Truncate(time.Second)
		all[name] = r
	}
	metav1.SetMetaDataAnnotation(&tc.ObjectMeta, AnnotationReplace, string(encoded(all)))
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

// replacementsOf returns the requests for members of a component.
func replacementsOf(tc *v1alpha1.TidbCluster, c Cluster, k Kind) map[string]MemberReplacement {
	all, err := MemberReplacements(tc)
	if err != nil {
		return nil // Warnings says so
	}
	maps.DeleteFunc(all, func(name string, _ MemberReplacement) bool {
		_, is := c.Ordinal(k, name)
		return !is
	})
	return all
}

// replacementWarnings returns a warning about requests that cannot be read.
func replacementWarnings(c Cluster) []Warning {
	if _, err := MemberReplacements(c.Written); err == nil {
		return nil
	}
	return []Warning{warn(field.NewPath("metadata", "annotations").Key(AnnotationReplace), "cannot be read, so that no member is replaced for it",
		remedy.Run("remove it", c.Kubectl("annotate", "tidbcluster", c.Name, AnnotationReplace+"-")))}
}

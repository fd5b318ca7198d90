package topology

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
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

// MemberRestarts returns the requests of a TidbCluster by the names of members. It fails if the annotation
// cannot be read.
func MemberRestarts(tc *v1alpha1.TidbCluster) (map[string]MemberRestart, error) {
	text, ok := tc.Annotations[AnnotationRestart]
	if !ok {
		return nil, nil
	}
	var all map[string]MemberRestart
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("decode annotation %s: %w", AnnotationRestart, err)
	}
	return all, nil
}

// AskMemberRestarts replaces the requests of a TidbCluster.
func AskMemberRestarts(tc *v1alpha1.TidbCluster, all map[string]MemberRestart) {
	if len(all) == 0 {
		delete(tc.Annotations, AnnotationRestart)
		return
	}
	all = maps.Clone(all)
	for name, r := range all {
		r.At = r.At.UTC().Truncate(time.Second)
		all[name] = r
	}
	metav1.SetMetaDataAnnotation(&tc.ObjectMeta, AnnotationRestart, string(encoded(all)))
}

// restartsOf returns the requests for members of a component.
func restartsOf(tc *v1alpha1.TidbCluster, c Cluster, k Kind) map[string]MemberRestart {
	all, err := MemberRestarts(tc)
	if err != nil {
		return nil // Warnings says so
	}
	maps.DeleteFunc(all, func(name string, _ MemberRestart) bool {
		_, is := c.Ordinal(k, name)
		return !is
	})
	return all
}

// restartWarnings returns a warning about requests that cannot be read.
func restartWarnings(c Cluster) []Warning {
	if _, err := MemberRestarts(c.Written); err == nil {
		return nil
	}
	return []Warning{warn(field.NewPath("metadata", "annotations").Key(AnnotationRestart), "cannot be read, so that no member is restarted for it",
		remedy.Run("remove it", c.Kubectl("annotate", "tidbcluster", c.Name, AnnotationRestart+"-")))}
}

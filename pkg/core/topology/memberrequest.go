package topology

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// Requests about single members are in an annotation of the TidbCluster, as a JSON object with a request by the name of
// each pod.

// memberRequests returns the requests of an annotation. It fails if the annotation cannot be read.
func memberRequests[T any](tc *v1alpha1.TidbCluster, annotation string) (map[string]T, error) {
	text, ok := tc.Annotations[annotation]
	if !ok {
		return nil, nil
	}
	var all map[string]T
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("decode annotation %s: %w", annotation, err)
	}
	return all, nil
}

// askMembers replaces the requests of an annotation.
func askMembers[T any](tc *v1alpha1.TidbCluster, annotation string, all map[string]T) {
	if len(all) == 0 {
		delete(tc.Annotations, annotation)
		return
	}
	metav1.SetMetaDataAnnotation(&tc.ObjectMeta, annotation, string(encoded(all)))
}

// requestsOf returns the requests of an annotation for members of a component.
func requestsOf[T any](tc *v1alpha1.TidbCluster, annotation string, c Cluster, k Kind) map[string]T {
	all, err := memberRequests[T](tc, annotation)
	if err != nil {
		return nil // Warnings says so
	}
	maps.DeleteFunc(all, func(name string, _ T) bool {
		_, is := c.Ordinal(k, name)
		return !is
	})
	return all
}

// requestWarnings returns a warning about requests that cannot be read, by what is not done because of that.
func requestWarnings[T any](c Cluster, annotation, undone string) []Warning {
	if _, err := memberRequests[T](c.Written, annotation); err == nil {
		return nil
	}
	return []Warning{warn(field.NewPath("metadata", "annotations").Key(annotation), "cannot be read, so that no member is "+undone+" for it",
		remedy.Run("remove it", c.Kubectl("annotate", "tidbcluster", c.Name, annotation+"-")))}
}

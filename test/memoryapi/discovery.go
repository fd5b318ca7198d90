package memoryapi

import (
	"encoding/json"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// answered answers what is not about an object: which resources of the groups of definitions there are, and whether
// something is permitted, which everything is.
func (s *Server) answered(w http.ResponseWriter, r *http.Request) bool {
	var answer any
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		answer = map[string]any{
			"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "status": map[string]any{"allowed": true},
		}
	case r.URL.Path == "/apis/pingcap.com/v1alpha1":
		answer = resources("pingcap.com/v1alpha1", "tidbclusters")
	case r.URL.Path == "/apis/apps.pingcap.com/v1" && s.advanced.Load():
		answer = resources("apps.pingcap.com/v1", "statefulsets")
	default:
		return false
	}
	w.Header().Set("Content-Type", asJSON)
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusCreated)
	}
	_ = json.NewEncoder(w).Encode(answer)
	return true
}

func resources(version, name string) metav1.APIResourceList {
	return metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: version,
		APIResources: []metav1.APIResource{{Name: name, Kind: kinds[name], Namespaced: true, Verbs: metav1.Verbs{"get", "list", "watch"}}},
	}
}

// ServeAdvanced has the server say that it knows AdvancedStatefulSets of tidb-operator.
func (s *Server) ServeAdvanced() { s.advanced.Store(true) }

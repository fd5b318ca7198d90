package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// groups are the resources that kubectl finds, by the versions of their groups.
var groups = map[string][]metav1.APIResource{
	"v1": {
		resource("configmaps", "ConfigMap", true, "cm"), resource("events", "Event", true, "ev"),
		resource("namespaces", "Namespace", false, "ns"), resource("nodes", "Node", false, "no"),
		resource("persistentvolumeclaims", "PersistentVolumeClaim", true, "pvc"), resource("persistentvolumes", "PersistentVolume", false, "pv"),
		resource("pods", "Pod", true, "po"), resource("secrets", "Secret", true, ""), resource("services", "Service", true, "svc"),
	},
	"apps/v1": {
		resource("controllerrevisions", "ControllerRevision", true, ""), resource("statefulsets", "StatefulSet", true, "sts"),
	},
	"coordination.k8s.io/v1": {resource("leases", "Lease", true, "")},
	"pingcap.com/v1alpha1":   {resource("tidbclusters", "TidbCluster", true, "tc")},
	"storage.k8s.io/v1":      {resource("storageclasses", "StorageClass", false, "sc")},
}

func resource(name, kind string, namespaced bool, short string) metav1.APIResource {
	out := metav1.APIResource{
		Name: name, Kind: kind, Namespaced: namespaced,
		Verbs: metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"},
	}
	if short != "" {
		out.ShortNames = []string{short}
	}
	return out
}

// discovered answers a client that asks which resources there are. It reports whether the request asks for that.
func discovered(out http.ResponseWriter, r *http.Request) bool {
	var found any
	switch path := r.URL.Path; path {
	case "/version":
		found = version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.0-model"}
	case "/api":
		found = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case "/apis":
		found = groupList()
	default:
		all, ok := groups[groupIn(path)]
		if !ok {
			return false
		}
		found = metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: groupIn(path), APIResources: all,
		}
	}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(found)
	return true
}

// groupIn returns the version of the group that a path names and nothing else, "" for none.
func groupIn(path string) string {
	for _, prefix := range []string{"/apis/", "/api/"} {
		if group, ok := strings.CutPrefix(path, prefix); ok {
			return group
		}
	}
	return ""
}

func groupList() metav1.APIGroupList {
	out := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}}
	for _, of := range slices.Sorted(maps.Keys(groups)) {
		name, version, ok := strings.Cut(of, "/")
		if !ok {
			continue // it is under /api
		}
		at := metav1.GroupVersionForDiscovery{GroupVersion: of, Version: version}
		out.Groups = append(out.Groups, metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{at}, PreferredVersion: at})
	}
	return out
}

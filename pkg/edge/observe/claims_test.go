package observe

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestClaimsOfAllClusters: claims and StatefulSets are those of all TiDB clusters and of nothing else, and all pods
// count, since any pod may mount a claim.
func TestClaimsOfAllClusters(t *testing.T) {
	other := topology.Cluster{Namespace: "db", Name: "other", Instance: "other"}
	var objects []runtime.Object
	for name, labels := range map[string]map[string]string{
		"basic": basic.Labels(topology.TiKV), "other": other.Labels(topology.PD),
		"foreign": {topology.LabelComponent: string(topology.TiKV)}, "unlabelled": nil,
	} {
		meta := metav1.ObjectMeta{Namespace: "db", Name: name, Labels: labels}
		objects = append(objects, &corev1.PersistentVolumeClaim{ObjectMeta: meta}, &corev1.Pod{ObjectMeta: meta}, &appsv1.StatefulSet{ObjectMeta: meta})
	}
	kube := fake.NewClientset(objects...)
	for namespace, want := range map[string]int{"db": 2, "": 2, "elsewhere": 0} {
		claims, pods, err := Claims(t.Context(), kube, namespace)
		if err != nil || len(claims) != want || len(pods) != 2*want {
			t.Errorf("in namespace %q: %d claims, %d pods, %v", namespace, len(claims), len(pods), err)
		}
		if sets, err := Sets(t.Context(), kube, namespace, true); err != nil || len(sets) != want {
			t.Errorf("in namespace %q: %d StatefulSets, %v", namespace, len(sets), err)
		}
	}
}

// TestClaimsCannotBeListed: the error says what cannot be listed. Without the pods it is not known which claims are
// mounted, and a claim that is would seem not to be.
func TestClaimsCannotBeListed(t *testing.T) {
	for _, resource := range []string{"persistentvolumeclaims", "pods", "statefulsets"} {
		kube := fake.NewClientset()
		kube.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("timeout") })
		claims, pods, err := Claims(t.Context(), kube, "db")
		if resource == "statefulsets" {
			_, err = Sets(t.Context(), kube, "db", true)
		}
		if err == nil || !strings.Contains(err.Error(), "list "+resource) || claims != nil || pods != nil {
			t.Errorf("%s: %v", resource, err)
		}
	}
}

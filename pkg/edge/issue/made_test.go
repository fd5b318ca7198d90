package issue_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

// TestMade: all Secrets that were made are found, also when the cluster is gone; those of others are not.
func TestMade(t *testing.T) {
	c, kube := cluster(), fake.NewClientset()
	made, err := issue.NewSelf(kube, c, noon, issue.Life).Missing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := append(made, "basic-cluster-ca-secret", "basic-tidb-ca-secret")
	slices.Sort(want)
	gone := topology.New(&v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}})
	for name, c := range map[string]topology.Cluster{"there": c, "gone": gone} {
		got, err := issue.Made(t.Context(), kube, c)
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	theirs := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic-pd-cluster-secret"}})
	if got, err := issue.Made(t.Context(), theirs, c); len(got) > 0 || err != nil {
		t.Errorf("of others: %v, %v", got, err)
	}
	theirs.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("forbidden") })
	if got, err := issue.Made(t.Context(), theirs, c); len(got) > 0 || err == nil {
		t.Errorf("not read: %v, %v", got, err)
	}
}

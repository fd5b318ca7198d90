package create

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestMakeBudgets: each component gets a PodDisruptionBudget, but not where one selects its pods or has the name already.
// Where none may be made, that is said with the command for later, and the cluster is created nevertheless.
func TestMakeBudgets(t *testing.T) {
	budget := func(name, component string) *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{topology.LabelComponent: component}}
		return b
	}
	for name, tt := range map[string]struct {
		have   []runtime.Object
		denied string // the verb that the user has no right to
		want   []string
		says   string
	}{
		"none":                     {want: []string{"basic-pd", "basic-tidb", "basic-tikv"}},
		"one of somebody else":     {have: []runtime.Object{budget("other", "tikv")}, want: []string{"basic-pd", "basic-tidb", "other"}},
		"the name is in use":       {have: []runtime.Object{budget("basic-pd", "x")}, want: []string{"basic-pd", "basic-tidb", "basic-tikv"}},
		"no right to look":         {denied: "list", says: "kubectl tidb doctor basic --fix -n db"},
		"no right to make any one": {denied: "create", says: "may evict several members at once"},
	} {
		kube := fake.NewClientset(tt.have...)
		kube.PrependReactor(cmp.Or(tt.denied, "none"), "poddisruptionbudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(policyv1.Resource("poddisruptionbudgets"), "", nil)
		})
		o, err := given(t, "basic --version v8.1.0")
		if err != nil {
			t.Fatal(err)
		}
		tc, err := o.cluster("db")
		if err != nil {
			t.Fatal(err)
		}
		streams, _, _, errOut := genericiooptions.NewTestIOStreams()
		makeBudgets(t.Context(), factory.New(streams, func(string) string { return "" }, ""), kube, topology.New(tc))
		names := map[string]bool{}
		all, _ := kube.Tracker().List(policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), "db")
		for _, b := range all.(*policyv1.PodDisruptionBudgetList).Items {
			names[b.Name] = true
		}
		if got := slices.Sorted(maps.Keys(names)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
		if got := errOut.String(); !strings.Contains(got, tt.says) || (got == "") != (tt.says == "") {
			t.Errorf("%s: it says %q, want %q", name, got, tt.says)
		}
	}
}

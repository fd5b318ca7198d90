package issue_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

// A stage that this version does not know is not taken for the beginning: the replacement would start again,
// and take an authority away that members still trust.
func TestUnknownStageIsRefused(t *testing.T) {
	c, kube := cluster(), fake.NewClientset()
	s := issue.NewSelf(kube, c, noon, issue.Life)
	if _, err := s.Missing(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Advance(t.Context(), issue.TrustBoth, noon); err != nil {
		t.Fatal(err)
	}
	secrets := kube.CoreV1().Secrets(c.Namespace)
	got, err := secrets.Get(t.Context(), c.AuthoritySecret(topology.MembersCircle), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range got.Annotations {
		if value == string(issue.TrustBoth) {
			got.Annotations[key] = "trust-three"
		}
	}
	if _, err := secrets.Update(t.Context(), got, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Progress(t.Context()); err == nil || !strings.Contains(err.Error(), `"trust-three"`) {
		t.Errorf("%+v, %v", p, err)
	}
}

package issue_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func cluster() topology.Cluster {
	return topology.New(&v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"},
		Spec: v1alpha1.TidbClusterSpec{
			Version: "v8.1.0", TLSCluster: &v1alpha1.TLSCluster{Enabled: true}, ClusterDomain: "a.example",
			PD: &v1alpha1.PDSpec{Replicas: 3}, TiKV: &v1alpha1.TiKVSpec{Replicas: 3},
			TiDB: &v1alpha1.TiDBSpec{Replicas: 2, TLSClient: &v1alpha1.TiDBTLSClient{Enabled: true}},
		},
	})
}

func read(t *testing.T, kube *fake.Clientset, c topology.Cluster) map[string]certificate.Secret {
	t.Helper()
	all := map[string]certificate.Secret{}
	for _, w := range topology.AllCertificates(c) {
		s, err := kube.CoreV1().Secrets("db").Get(t.Context(), w.Secret, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all[w.Secret] = certificate.Parse(w.Secret, s.Data, w.WithoutCA)
	}
	return all
}

// TestMissing: what is made can be used by all members, also by those that are scaled out later, and
// by components that are added later. What exists stays.
func TestMissing(t *testing.T) {
	c, kube := cluster(), fake.NewClientset()
	made, err := issue.NewSelf(kube, c, noon, issue.Life).Missing(t.Context())
	if err != nil || len(made) != len(topology.AllCertificates(c)) {
		t.Fatalf("made %v, %v", made, err)
	}
	for _, want := range []string{"basic-pd-cluster-secret", "basic-cluster-client-secret", "basic-tidb-server-secret", "basic-tidb-client-secret"} {
		if !slices.Contains(made, want) {
			t.Errorf("%s is missing in %v", want, made)
		}
	}
	larger := c.Source.DeepCopy()
	larger.Spec.TiKV.Replicas = 12
	before := read(t, kube, c)
	if faults := certificate.Faults(topology.New(larger), before, noon); len(faults) > 0 {
		t.Errorf("faults %+v", faults)
	}
	if again, err := issue.NewSelf(kube, c, noon, issue.Life).Missing(t.Context()); len(again) > 0 || err != nil {
		t.Errorf("made again: %v, %v", again, err)
	}
	if err := kube.CoreV1().Secrets("db").Delete(t.Context(), "basic-tikv-cluster-secret", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if again, err := issue.NewSelf(kube, c, noon, issue.Life).Missing(t.Context()); len(again) != 1 || err != nil {
		t.Errorf("made again: %v, %v", again, err)
	}
	after := read(t, kube, c)
	if faults := certificate.Faults(c, after, noon); len(faults) > 0 {
		t.Errorf("faults %+v", faults)
	}
	const other = "basic-pd-cluster-secret"
	if certificate.ID(after[other].Leaf) != certificate.ID(before[other].Leaf) {
		t.Error("a certificate that was there is replaced")
	}
}

// TestForeign: beside certificates of others none is made, since it would not be trusted; the other
// circle has its own authority.
func TestForeign(t *testing.T) {
	c := cluster()
	kube := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic-pd-cluster-secret"}})
	made, err := issue.NewSelf(kube, c, noon, issue.Life).Missing(t.Context())
	if _, ok := errors.AsType[*issue.ForeignError](err); !ok || len(made) > 0 {
		t.Errorf("made %v, %v", made, err)
	}
}

// TestRenew: certificates of our own get a later end, with the same authority; those of others stay.
func TestRenew(t *testing.T) {
	c, kube := cluster(), fake.NewClientset()
	if _, err := issue.NewSelf(kube, c, noon, issue.Life).Missing(t.Context()); err != nil {
		t.Fatal(err)
	}
	const theirs = "basic-tikv-cluster-secret"
	s, err := kube.CoreV1().Secrets("db").Get(t.Context(), theirs, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Annotations = nil
	if _, err := kube.CoreV1().Secrets("db").Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	before, later := read(t, kube, c), noon.Add(100*24*time.Hour)
	renewed, left, err := issue.NewSelf(kube, c, later, issue.Life).Renew(t.Context())
	if err != nil || !slices.Equal(left, []string{theirs}) || len(renewed) != len(before)-1 {
		t.Fatalf("renewed %v, left %v, %v", renewed, left, err)
	}
	after := read(t, kube, c)
	for name, s := range after {
		if s.Leaf.NotAfter.After(before[name].Leaf.NotAfter) == (name == theirs) {
			t.Errorf("%s ends on %s, before on %s", name, s.Leaf.NotAfter, before[name].Leaf.NotAfter)
		}
	}
	if faults := certificate.Faults(c, after, later); len(faults) > 0 {
		t.Errorf("faults %+v", faults)
	}
}

// TestMissingOfPart: members of a part have certificates of the authority of PD, which only the part with PD makes.
func TestMissingOfPart(t *testing.T) {
	whole, kube := cluster(), fake.NewClientset()
	tc := whole.Source.DeepCopy()
	tc.Namespace, tc.Name, tc.Spec.PD = "reports", "more", nil
	tc.Spec.Cluster = &v1alpha1.TidbClusterRef{Namespace: "db", Name: "basic", ClusterDomain: "a.example"}
	part := topology.New(tc)
	made, err := issue.NewSelf(kube, part, noon, issue.Life).Missing(t.Context())
	if none, ok := errors.AsType[*issue.NoAuthorityError](err); !ok || none.Secret != "db/basic-cluster-ca-secret" || len(made) > 0 {
		t.Errorf("made %v, %v", made, err)
	}
	for _, c := range []topology.Cluster{whole, part} {
		if _, err := issue.NewSelf(kube, c, noon, issue.Life).Missing(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := kube.CoreV1().Secrets("reports").Get(t.Context(), "more-cluster-ca-secret", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the part has an authority of its own: %v", err)
	}
	authority := func(namespace, name string) string {
		t.Helper()
		s, err := kube.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(s.Data[topology.KeyCA])
	}
	if authority("reports", "more-tikv-cluster-secret") != authority("db", "basic-pd-cluster-secret") {
		t.Error("members of the part have another authority than PD")
	}
}

// TestMissingWithAddresses: members that join PD by addresses need certificates that this PD trusts. A new authority would
// keep them out for good.
func TestMissingWithAddresses(t *testing.T) {
	tc := cluster().Source.DeepCopy()
	tc.Spec.PDAddresses = []string{"https://elsewhere:2379"}
	made, err := issue.NewSelf(fake.NewClientset(), topology.New(tc), noon, issue.Life).Missing(t.Context())
	none, ok := errors.AsType[*issue.NoAuthorityError](err)
	if !ok || len(made) > 0 || !strings.Contains(none.Error(), "the authority of PD at https://elsewhere:2379") {
		t.Errorf("made %v, %v", made, err)
	}
}

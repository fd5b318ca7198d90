package certmanager

import (
	"bytes"
	"slices"
	"testing"
	"time"

	cm "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

// TestAsked: what cert-manager makes of the Certificates of "tls init" can be used by all members, as
// cert-manager's own code reads them. They are renewed when that is asked for, and only then.
func TestAsked(t *testing.T) {
	cluster := topology.New(&v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"},
		Spec: v1alpha1.TidbClusterSpec{
			Version: "v8.1.0", TLSCluster: &v1alpha1.TLSCluster{Enabled: true},
			PD: &v1alpha1.PDSpec{Replicas: 3}, TiKV: &v1alpha1.TiKVSpec{Replicas: 3},
			TiDB: &v1alpha1.TiDBSpec{Replicas: 2, TLSClient: &v1alpha1.TiDBTLSClient{Enabled: true}},
		},
	})
	lists := map[schema.GroupVersionResource]string{cm.SchemeGroupVersion.WithResource("certificates"): "CertificateList"}
	dyn, kube := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists), fake.NewClientset()
	controller, err := New(dyn, kube, "db", "tests")
	if err != nil {
		t.Fatal(err)
	}
	asked, others := issue.NewCertManager(dyn, cluster, "tests", 48*time.Hour), issue.NewCertManager(dyn, cluster, "others", time.Hour)
	if made, err := asked.Missing(t.Context()); err != nil || len(made) != len(topology.AllCertificates(cluster)) {
		t.Fatalf("asked for %v, %v", made, err)
	}
	if made, err := others.Missing(t.Context()); err != nil || len(made) > 0 {
		t.Fatalf("asked again for %v, %v", made, err)
	}
	turn := func() map[string]certificate.Secret {
		t.Helper()
		if err := controller.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if pending, err := asked.Pending(t.Context()); err != nil || len(pending) > 0 {
			t.Fatalf("pending: %v, %v", pending, err)
		}
		return read(t, kube, cluster)
	}
	first := turn()
	if faults := certificate.Faults(cluster, first, time.Now()); len(faults) > 0 {
		t.Errorf("faults: %+v", faults)
	}
	const server, client = "basic-tikv-cluster-secret", "basic-cluster-client-secret"
	if got := first[server].Leaf; got.Subject.CommonName != issue.CommonName || !slices.Contains(got.Subject.OrganizationalUnit, server) ||
		got.NotAfter.Sub(got.NotBefore) < 47*time.Hour || len(got.IPAddresses) != 2 || len(got.ExtKeyUsage) != 2 {
		t.Errorf("%s: %s until %s for %v and %v", server, got.Subject, got.NotAfter, got.IPAddresses, got.ExtKeyUsage)
	}
	if got := first[client].Leaf; len(got.DNSNames) > 0 || len(got.ExtKeyUsage) != 1 {
		t.Errorf("%s: for %v, %v", client, got.DNSNames, got.ExtKeyUsage)
	}
	if again := turn(); !bytes.Equal(again[server].Leaf.Raw, first[server].Leaf.Raw) {
		t.Error("it is renewed without being asked")
	}
	if err := controller.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if idle, err := controller.Idle(t.Context()); err != nil || idle {
		t.Errorf("idle: %t, %v", idle, err)
	}
	renewed := turn()
	if idle, err := controller.Idle(t.Context()); err != nil || !idle {
		t.Errorf("idle: %t, %v", idle, err)
	}
	for name := range first {
		if bytes.Equal(renewed[name].Leaf.Raw, first[name].Leaf.Raw) {
			t.Errorf("%s is not renewed", name)
		}
	}
	if faults := certificate.Faults(cluster, renewed, time.Now()); len(faults) > 0 {
		t.Errorf("faults: %+v", faults)
	}
}

// TestOthers: Certificates of another Issuer, and those with unknown fields, get no Secret.
func TestOthers(t *testing.T) {
	lists := map[schema.GroupVersionResource]string{cm.SchemeGroupVersion.WithResource("certificates"): "CertificateList"}
	dyn, kube := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists), fake.NewClientset()
	controller, err := New(dyn, kube, "db", "tests")
	if err != nil {
		t.Fatal(err)
	}
	cluster := topology.New(&v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"},
		Spec:       v1alpha1.TidbClusterSpec{TLSCluster: &v1alpha1.TLSCluster{Enabled: true}},
	})
	asked := issue.NewCertManager(dyn, cluster, "others", time.Hour)
	if _, err := asked.Missing(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := controller.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list, err := kube.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("%d Secrets, %v", len(list.Items), err)
	}
	one, err := controller.certificates.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	one.Items[0].SetManagedFields([]metav1.ManagedFieldsEntry{{ // as an API server adds them
		Manager: "x", Operation: "Update", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{".":{}}}`),
	}})
	if _, err := decode(&one.Items[0]); err != nil {
		t.Error(err)
	}
	one.Items[0].Object["spec"].(map[string]any)["secretname"] = "x"
	if _, err := decode(&one.Items[0]); err == nil {
		t.Error("there is no such field")
	}
}

func read(t *testing.T, kube *fake.Clientset, c topology.Cluster) map[string]certificate.Secret {
	t.Helper()
	all := map[string]certificate.Secret{}
	for _, w := range topology.AllCertificates(c) {
		s, err := kube.CoreV1().Secrets(c.Namespace).Get(t.Context(), w.Secret, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Type != corev1.SecretTypeTLS {
			t.Errorf("%s: type %s", w.Secret, s.Type)
		}
		all[w.Secret] = certificate.Parse(w.Secret, s.Data, w.WithoutCA)
	}
	return all
}

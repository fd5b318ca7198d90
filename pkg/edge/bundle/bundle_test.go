package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/bundle"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// values are those of Secrets, and of variables with the names of secrets.
var values = []string{"private-key-of-tikv", "root-password-1", "from-the-environment", "in-a-configuration", "applied-before"}

// cluster is one with a secret value wherever it can be: a pod's environment, a configuration, an
// annotation, an event, and the log of a pod that is not ready.
func cluster() (bundle.Cluster, *fake.Clientset) {
	tc := &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "t"}}
	c := topology.New(tc)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: "ns", Name: name, Labels: c.Labels(topology.TiKV),
			Annotations:   map[string]string{"kubectl.kubernetes.io/last-applied-configuration": values[4]},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "somebody"}},
		}
	}
	key := "-----BEGIN KEY-----\n" + values[0] + "\n-----END KEY-----\n"
	kube := fake.NewClientset(
		&corev1.Secret{ObjectMeta: meta("t-tikv-cluster-secret"), Data: map[string][]byte{"tls.key": []byte(key)}},
		&corev1.Secret{ObjectMeta: meta("t-init"), Data: map[string][]byte{"root": []byte(values[1])}},
		&corev1.Pod{
			ObjectMeta: meta("t-tikv-0"), Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "tikv", RestartCount: 1}}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "tikv", Env: []corev1.EnvVar{
				{Name: "DB_PASSWORD", Value: values[2]}, {Name: "ZONE", Value: "eu-1"}, {Name: "OTHER", Value: values[1]},
			}}}},
		},
		&corev1.Pod{ObjectMeta: meta("t-tikv-1"), Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}, ContainerStatuses: []corev1.ContainerStatus{{Name: "tikv"}},
		}},
		&corev1.ConfigMap{ObjectMeta: meta("t-tikv"), Data: map[string]string{"config-file": "[log]\nlevel = \"info\"\nauth-token = \"" + values[3] + "\"\n"}},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, InvolvedObject: corev1.ObjectReference{Name: "t-tikv-0"},
			Message: "cannot log in with " + base64.StdEncoding.EncodeToString([]byte(values[1]))},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b"}, InvolvedObject: corev1.ObjectReference{Name: "other"}, Message: "of another cluster"},
	)
	return bundle.Cluster{Kube: kube, Cluster: c, TidbCluster: tc, Certificates: map[string]certificate.Secret{"t-tikv-cluster-secret": {}}}, kube
}

// files returns the files of an archive.
func files(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = string(text)
	}
}

// TestNoSecretValue: no value of a Secret is in any file, whatever has printed it, and what is no
// secret stays.
func TestNoSecretValue(t *testing.T) {
	c, _ := cluster()
	var out bytes.Buffer
	b := bundle.New(&out, "ns-t", now)
	b.Collect(t.Context(), c)
	b.Add("status.json", []byte("root has "+values[1]))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	got := files(t, out.Bytes())
	for name, text := range got {
		for _, v := range values {
			if strings.Contains(text, v) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(v))) {
				t.Errorf("%s has %s:\n%s", name, v, text)
			}
		}
	}
	for name, says := range map[string]string{
		"secrets.json": `"tls.key"`, "pods.yaml": "eu-1", "configmaps.yaml": `level = "info"`, "events.yaml": "cannot log in", "tidbcluster.yaml": "name: t",
		"statefulsets.yaml": "items", "services.yaml": "items", "persistentvolumeclaims.yaml": "items", "status.json": "root has REMOVED",
		"logs/t-tikv-0/tikv.log": "fake logs", "logs/t-tikv-0/tikv.previous.log": "fake logs", "not-read.txt": "pd: no member of PD is known",
	} {
		if !strings.Contains(got["ns-t/"+name], says) {
			t.Errorf("%s does not say %q: %q", name, says, got["ns-t/"+name])
		}
	}
	if strings.Contains(got["ns-t/events.yaml"], "another cluster") || strings.Contains(got["ns-t/pods.yaml"], "managedFields") || got["ns-t/logs/t-tikv-1/tikv.log"] != "" {
		t.Error("there is more than is of use")
	}
}

// TestBestEffort: what may not be read is named, and keeps nothing else from the archive.
func TestBestEffort(t *testing.T) {
	c, kube := cluster()
	for _, r := range []string{"secrets", "events", "configmaps"} {
		kube.PrependReactor("*", r, func(ktesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: r}, "", errors.New("no"))
		})
	}
	var out bytes.Buffer
	b := bundle.New(&out, "ns-t", now)
	b.Collect(t.Context(), c)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	got := files(t, out.Bytes())
	for _, what := range []string{"secret t-tikv-cluster-secret: ", "secret t-init: ", "events.yaml: ", "configmaps.yaml: "} {
		if !strings.Contains(got["ns-t/not-read.txt"], what) || !strings.Contains(strings.Join(b.Lacks(), "\n"), what) {
			t.Errorf("%q is not named in %q", what, got["ns-t/not-read.txt"])
		}
	}
	if got["ns-t/pods.yaml"] == "" || got["ns-t/events.yaml"] != "" || len(b.Lacks()) != 5 {
		t.Errorf("%q", b.Lacks())
	}
	if strings.Contains(got["ns-t/pods.yaml"], values[2]) {
		t.Error("a variable with the name of a secret is in the archive")
	}
}

// TestCharactersThatYAMLRefuses: they are escaped, as a log line or the text of an event can have them.
func TestCharactersThatYAMLRefuses(t *testing.T) {
	var out bytes.Buffer
	b := bundle.New(&out, "ns-t", now)
	b.Object("pods.yaml", map[string]any{"message": "a\x7fb\u009bc\ufffed\x1be"}, nil)
	b.Object("not.yaml", map[string]any{"f": func() {}}, nil)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := files(t, out.Bytes())["ns-t/pods.yaml"]; !strings.Contains(got, `a\u007Fb\u009Bc\uFFFEd\ee`) {
		t.Errorf("got %q", got)
	}
	if got := b.Unwritten(); len(got) != 1 || got[0] != "not.yaml" || len(b.Lacks()) != 1 {
		t.Errorf("unwritten %q, lacks %q", got, b.Lacks())
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestNotWritten: an archive that could not be written is an error.
func TestNotWritten(t *testing.T) {
	b := bundle.New(full{}, "ns-t", now)
	b.Add("x", bytes.Repeat([]byte("x"), 1<<20))
	if err := b.Close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
}

package bundle_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/bundle"
)

// archived returns the files of an archive that add has filled.
func archived(t *testing.T, add func(b *bundle.Bundle)) map[string]string {
	t.Helper()
	var out bytes.Buffer
	b := bundle.New(&out, "d", now)
	add(b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return files(t, out.Bytes())
}

// TestHiddenForms: a value of a Secret is found where it has another one in it, and in every form in
// which texts have it.
func TestHiddenForms(t *testing.T) {
	odd := "a\"b\\c d<e'f"
	long := strings.TrimSpace(strings.Repeat("many words ", 20))
	inJSON, err := json.Marshal(odd)
	if err != nil {
		t.Fatal(err)
	}
	got := archived(t, func(b *bundle.Bundle) {
		b.Hide(map[string][]byte{"a": []byte("secret1"), "b": []byte("secret1-more"), "c": []byte("the-secret1-x"), "d": []byte(odd), "e": []byte(long)})
		b.Add("overlap", []byte("1 secret1-more 2 the-secret1-x 3 secret1"))
		b.Add("forms", []byte(strings.Join([]string{
			odd, string(inJSON), url.QueryEscape(odd), url.PathEscape(odd), base64.StdEncoding.EncodeToString([]byte(odd)), `a\"b\\c d<e'f`,
		}, "\n")))
		b.Object("yaml", corev1.Pod{Spec: corev1.PodSpec{Hostname: "x " + odd + ": y", Subdomain: "before " + long + " after"}}, nil)
		b.JSON("json", map[string]string{"k": odd}, nil)
	})
	if want := "1 REMOVED 2 REMOVED 3 REMOVED"; got["d/overlap"] != want {
		t.Errorf("got %q", got["d/overlap"])
	}
	if want := "REMOVED\n\"REMOVED\"\nREMOVED\nREMOVED\nREMOVED\nREMOVED"; got["d/forms"] != want {
		t.Errorf("got %q", got["d/forms"])
	}
	if text := got["d/yaml"]; !strings.Contains(text, "hostname: 'x REMOVED: y'") || !strings.Contains(text, "subdomain: before REMOVED after") {
		t.Errorf("got %q", text)
	}
	if text := got["d/json"]; !strings.Contains(text, `"k": "REMOVED"`) {
		t.Errorf("got %q", text)
	}
}

// TestAssigned: what has the name of a secret loses its value, in whatever text an object has it; what
// says where a secret is stays.
func TestAssigned(t *testing.T) {
	for text, want := range map[string]string{
		"a = 1\npassword = \"x y\"\nb = 2":                           "a = 1\npassword = REMOVED\nb = 2",
		`{"user":"root","password":"x\"y","host":"h"}`:               `{"user":"root","password":REMOVED,"host":"h"}`,
		`{"config":"{\"auth-token\":\"x\",\"level\":\"info\"}"}`:     `{"config":"{\"auth-token\":REMOVED,\"level\":\"info\"}"}`,
		`sink = { passphrase = "x, y", user = "root" }`:              `sink = { passphrase = REMOVED, user = "root" }`,
		"mysql --host=h --password=x --user=u":                       "mysql --host=h --password=REMOVED --user=u",
		`failed for volume "a-secret" : secret "a-secret" not found`: `failed for volume "a-secret" : secret "a-secret" not found`,
	} {
		got := archived(t, func(b *bundle.Bundle) { b.Object("text", map[string]string{"text": text}, nil) })
		var after struct{ Text string }
		if err := yaml.Unmarshal([]byte(got["d/text"]), &after); err != nil {
			t.Fatal(err)
		}
		if after.Text != want {
			t.Errorf("%s: got %s", text, after.Text)
		}
	}
}

// TestFieldsWithSecrets: a field with the name of a secret, and a spec of before in an annotation.
func TestFieldsWithSecrets(t *testing.T) {
	tc := v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		topology.AnnotationLastChange: `{"back":{"tikv":{"config":"key = \"an-old-password\""}}}`, "other": "stays",
	}}}
	got := archived(t, func(b *bundle.Bundle) {
		b.Object("tidbcluster", tc, nil)
		b.Object("configmap", corev1.ConfigMap{Data: map[string]string{"access-key": "of-a-bucket", "zone": "eu-1"}}, nil)
		b.Object("pod", corev1.Volume{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "t-tikv-secret"}}}, nil)
	})
	for file, want := range map[string]struct{ has, not string }{
		"tidbcluster": {"other: stays", "an-old-password"},
		"configmap":   {"zone: eu-1", "of-a-bucket"},
		"pod":         {"secretName: t-tikv-secret", "REMOVED"},
	} {
		if text := got["d/"+file]; !strings.Contains(text, want.has) || strings.Contains(text, want.not) {
			t.Errorf("%s: %s", file, text)
		}
	}
}

package remove

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	fakemeta "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

func TestFlags(t *testing.T) {
	f := factory.New(genericiooptions.NewTestIOStreamsDiscard(), os.Getenv, "")
	for args, says := range map[string]string{
		"basic -y --delete-pvcs --timeout 5m":       "",
		"basic other -y --delete-pvcs --timeout 5m": "",
		"":                                 "name the clusters, or give -l or --all",
		"-A":                               "name the clusters, or give -l or --all",
		"basic --timeout -5m":              "negative",
		"basic -l env=test":                "leave out either basic or the flags",
		"basic --all":                      "leave out either basic or the flags",
		"basic -A":                         "leave out either basic or the flags",
		"--all -l env=test":                "--all does not go with -l",
		"-l env=":                          "",
		"-l ===":                           "--selector",
		"basic --wait=false --delete-pvcs": "--delete-pvcs does not go with --wait=false",
	} {
		var got *options
		cmd := command(f, func(_ context.Context, o options) error { got = &o; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetOut(io.Discard)
		cmd.SetArgs(strings.Fields(args))
		err := cmd.Execute()
		switch {
		case says != "":
			if err == nil || !strings.Contains(err.Error(), says) || got != nil {
				t.Errorf("%s: %v does not say %q", args, err, says)
			}
		case strings.HasPrefix(args, "-l"):
			if err != nil || got.Selector != "env=" || !got.wait {
				t.Errorf("%s: %+v, %v", args, got, err)
			}
		case err != nil || !got.yes || !got.claims || got.timeout != 5*time.Minute || got.Names[0] != "basic":
			t.Errorf("%s: %+v, %v", args, got, err)
		}
	}
}

func TestConfirm(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("CI", "") // in a pipeline there is no question
	s := &target.Session{Namespace: "db", Name: "basic"}
	for _, c := range []struct {
		name, typed string
		o           options
		code        exit.Code
		asks        string
	}{
		{"the name", "basic\n", options{}, exit.OK, "its data stays"},
		{"the name, without a line end", "basic", options{}, exit.OK, "db/basic"},
		{"the name, data too", "basic\n", options{claims: true}, exit.OK, "ITS DATA IS DELETED TOO"},
		{"yes is not the name", "yes\n", options{}, exit.Refused, "its data stays"},
		{"an empty line", "\n", options{}, exit.Refused, "its data stays"},
		{"no terminal", "", options{}, exit.Refused, "its data stays"},
		{"not asked", "", options{yes: true}, exit.OK, ""},
	} {
		var asked bytes.Buffer
		f := factory.New(genericiooptions.IOStreams{In: bytes.NewBufferString(c.typed), Out: io.Discard, ErrOut: &asked}, os.Getenv, "")
		err := c.o.confirm(t.Context(), f, s)
		if exit.Of(err) != c.code {
			t.Errorf("%s: exit code %d, want %d: %v", c.name, exit.Of(err), c.code, err)
		}
		if !strings.Contains(asked.String(), c.asks) || c.asks == "" && asked.Len() > 0 {
			t.Errorf("%s: asked %q, want %q", c.name, asked.String(), c.asks)
		}
	}
}

// left returns the remains of a cluster of which these objects are left.
func left(objects ...runtime.Object) remains {
	c := topology.Cluster{Namespace: "db", Name: "basic", Instance: "basic"}
	scheme := fakemeta.NewTestScheme()
	_ = metav1.AddMetaToScheme(scheme)
	return remains{kube: fake.NewClientset(objects...), meta: fakemeta.NewSimpleMetadataClient(scheme), cluster: c, say: func(string) {}}
}

func own(name string) metav1.ObjectMeta {
	c := topology.Cluster{Namespace: "db", Name: "basic", Instance: "basic"}
	return metav1.ObjectMeta{Namespace: "db", Name: name, Labels: c.Selector()}
}

// Data that is to stay is not deleted.
func TestKeepsData(t *testing.T) {
	set := func(meta metav1.ObjectMeta, deleted, scaled appsv1.PersistentVolumeClaimRetentionPolicyType) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: deleted, WhenScaled: scaled},
		}}
	}
	for name, tt := range map[string]struct {
		set  runtime.Object
		code exit.Code
	}{
		"no policy":         {&appsv1.StatefulSet{ObjectMeta: own("basic-tikv")}, exit.OK},
		"kept":              {set(own("basic-tikv"), "Retain", "Delete"), exit.OK},
		"deleted with it":   {set(own("basic-tikv"), "Delete", "Retain"), exit.Refused},
		"that of another's": {set(metav1.ObjectMeta{Namespace: "db", Name: "x"}, "Delete", "Retain"), exit.OK},
	} {
		err := left(tt.set).keepsData(t.Context())
		if exit.Of(err) != tt.code || err != nil && !strings.Contains(err.Error(), "kubectl patch statefulset basic-tikv ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWaitForPods(t *testing.T) {
	if err := left().waitForPods(t.Context()); err != nil {
		t.Errorf("no pods: %v", err)
	}
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "web-0"}}
	if err := left(foreign).waitForPods(t.Context()); err != nil {
		t.Errorf("the pod of another cluster: %v", err)
	}
	pod := &corev1.Pod{ObjectMeta: own("basic-pd-0")}
	for cause, says := range map[error]string{exit.ErrInterrupted: "interrupted", exit.ErrTimedOut: "timed out"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := left(pod)
		r.kube.(*fake.Clientset).PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			cancel(cause) // while it looks
			return false, nil, nil
		})
		err := r.waitForPods(ctx)
		if exit.Of(err) != exit.Of(cause) || !strings.HasPrefix(err.Error(), says) || !strings.Contains(err.Error(), "pod basic-pd-0 is left") {
			t.Errorf("%v: exit code %d, %v", cause, exit.Of(err), err)
		}
		if errors.Is(err, exit.ErrInterrupted) {
			t.Error("an interrupt that is worth a word would be silent")
		}
	}
}

func TestDeleteClaims(t *testing.T) {
	mine := &corev1.PersistentVolumeClaim{ObjectMeta: own("tikv-basic-tikv-0")}
	other := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "tikv-basic2-tikv-0"}}
	r := left(mine, other)
	claims, err := r.claims(t.Context())
	if err != nil || len(claims) != 1 {
		t.Fatalf("%d claims, %v", len(claims), err)
	}
	gone := claims[0]
	gone.Name = "tikv-basic-tikv-1" // deleted by another process in between
	if err := r.deleteClaims(t.Context(), append(claims, gone)); err != nil {
		t.Fatal(err)
	}
	rest, err := r.kube.CoreV1().PersistentVolumeClaims("db").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(rest.Items) != 1 || rest.Items[0].Name != other.Name {
		t.Errorf("left are %v, %v", rest.Items, err)
	}
}

// TestSecretsStay: certificates that were made for the cluster, and the password of root, are named, with commands for
// exactly those; where they cannot be read, the deletion is no failure.
func TestSecretsStay(t *testing.T) {
	secret := func(name string, by map[string]string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name, Annotations: by}}
	}
	ours := map[string]string{"kubectl-tidb/issued-by": "kubectl-tidb"}
	kube := fake.NewClientset(secret("basic-pd-cluster-secret", ours), secret("basic-cluster-ca-secret", ours), secret("basic-tikv-cluster-secret", nil), secret("basic-init", nil))
	for _, claims := range []bool{false, true} {
		d := deletion{remains: left(), context: "prod", dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())}
		d.cluster = topology.New(&v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}})
		d.kube = kube
		const want = "cluster db/basic is deleted\nits certificates stay, in 2 Secrets; to delete them as well: " +
			"kubectl delete secret basic-pd-cluster-secret basic-cluster-ca-secret -n db --context prod\n" +
			"the first password of root stays, in Secret basic-init; to delete it as well: kubectl delete secret basic-init -n db --context prod\n"
		if err := d.finish(t.Context(), options{claims: claims}); err != nil || d.result != want {
			t.Errorf("%q, %v, want %q", d.result, err, want)
		}
	}
	kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("forbidden") })
	d := deletion{remains: left(), dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())}
	d.cluster = topology.New(&v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}})
	d.kube = kube
	if err := d.finish(t.Context(), options{}); err != nil || d.result != "cluster db/basic is deleted\n" {
		t.Errorf("%q, %v", d.result, err)
	}
}

// TestCertificatesStay: what cert-manager was asked for is named, with a command for exactly that; where it cannot be
// read, nothing is said.
func TestCertificatesStay(t *testing.T) {
	c := topology.New(&v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}})
	dyn := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	with := c
	with.TLS.SQL = true
	if _, err := issue.NewCertManager(dyn, with, "mine", issue.Life).Missing(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := deletion{remains: left(), context: "prod", dynamic: dyn}
	d.cluster = c
	const deleted, want = "cluster db/basic is deleted\n", "2 Certificates for cert-manager stay, with their Secrets; to delete them as well: " +
		"kubectl delete certificates.cert-manager.io,secrets --ignore-not-found basic-tidb-server-secret basic-tidb-client-secret -n db --context prod\n"
	if err := d.finish(t.Context(), options{}); err != nil || d.result != deleted+want {
		t.Errorf("%q, %v, want %q", d.result, err, deleted+want)
	}
	dyn.PrependReactor("get", "certificates", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("forbidden") })
	if err := d.finish(t.Context(), options{}); err != nil || d.result != deleted {
		t.Errorf("%q, %v", d.result, err)
	}
}

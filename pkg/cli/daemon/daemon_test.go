package daemon

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/ownpod"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/rbac"
)

var update = flag.Bool("update", false, "write the golden files again")

// printed returns what a release prints for the namespace ops.
func printed(t *testing.T, version, args string) (string, error) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	f := factory.New(streams, func(string) string { return "" }, version)
	*f.Flags.Namespace = "ops"
	cmd := New(f)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(io.Discard)
	cmd.SetArgs(append([]string{"manifest"}, strings.Fields(args)...))
	err := cmd.Execute()
	return out.String(), err
}

func TestManifest(t *testing.T) {
	for name, args := range map[string]string{
		"namespace":  "",
		"everywhere": "-A --service-monitor",
		"shards":     "-A --shards 2 --replicas 1",
		"tenants":    "-A --restricted --metrics-from monitoring,prometheus --service-monitor",
		"other":      "-A -l tier=prod,env!=test --name tidb-prod --replicas 3 --image registry.example:5000/tools/kubectl-tidb@sha256:" + strings.Repeat("0a", 32),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := printed(t, "v1.2.3", args)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("differs from %s, which go test -update writes:\n%s", golden, got)
			}
		})
	}
}

// objects reads a manifest as strictly as the API server does with
// --validate=strict. A kind that the library does not know is left out.
func objects(t *testing.T, args string) []runtime.Object {
	t.Helper()
	text, err := printed(t, "v1.2.3", args)
	if err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var all []runtime.Object
	for _, part := range bytes.Split([]byte(text), []byte("---\n")) {
		o, _, err := decoder.Decode(part, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			continue
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, part)
		}
		all = append(all, o)
	}
	return all
}

func one[T runtime.Object](t *testing.T, all []runtime.Object) T {
	t.Helper()
	at := slices.IndexFunc(all, func(o runtime.Object) bool { _, ok := o.(T); return ok })
	if at < 0 {
		t.Fatalf("there is no %T", *new(T))
	}
	return all[at].(T)
}

// TestFits: references between the objects of the manifest are correct.
func TestFits(t *testing.T) {
	for _, args := range []string{"", "-A", "-A --name other"} {
		all := objects(t, args)
		account, d := one[*corev1.ServiceAccount](t, all), one[*appsv1.Deployment](t, all)
		pod := d.Spec.Template
		if pod.Spec.ServiceAccountName != account.Name || account.Namespace != "ops" || d.Namespace != "ops" {
			t.Errorf("%s: the pods run as %s in %s, the account is %s/%s", args, pod.Spec.ServiceAccountName, d.Namespace, account.Namespace, account.Name)
		}
		served := one[*corev1.Service](t, all)
		for what, s := range map[string]labels.Set{
			"Deployment": d.Spec.Selector.MatchLabels, "Service": served.Spec.Selector,
			"PodDisruptionBudget": one[*policyv1.PodDisruptionBudget](t, all).Spec.Selector.MatchLabels,
		} {
			if !s.AsSelector().Matches(labels.Set(pod.Labels)) {
				t.Errorf("%s: %s does not select the pods", args, what)
			}
		}
		if of := labels.Set(topology.Cluster{}.Selector()); of[topology.LabelName] == pod.Labels[topology.LabelName] {
			t.Errorf("%s: the pods look like those of a TidbCluster", args)
		}
	}
}

// TestRights: for one namespace no rights outside of it are granted; for all namespaces a driver's
// rights are, without those that only a person at a terminal needs.
func TestRights(t *testing.T) {
	all := objects(t, "")
	role, binding := one[*rbacv1.Role](t, all), one[*rbacv1.RoleBinding](t, all)
	wantRules(t, role.Rules, rbac.Rules(rbac.Driver, rbac.Namespace))
	wantBound(t, binding.RoleRef, binding.Subjects, "Role", role.Name)
	for _, o := range all {
		switch o.(type) {
		case *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding:
			t.Errorf("a daemon for one namespace has a %T", o)
		}
	}
	all = objects(t, "-A")
	everywhere, bound := one[*rbacv1.ClusterRole](t, all), one[*rbacv1.ClusterRoleBinding](t, all)
	wantRules(t, everywhere.Rules, rbac.Rules(rbac.Driver, rbac.Namespace, rbac.Everywhere))
	wantBound(t, bound.RoleRef, bound.Subjects, "ClusterRole", everywhere.Name)
	if !strings.Contains(everywhere.Name, "ops") || bound.Name != everywhere.Name {
		t.Errorf("%s and %s would be taken over by a daemon in another namespace", everywhere.Name, bound.Name)
	}
}

func wantRules(t *testing.T, got, driver []rbacv1.PolicyRule) {
	t.Helper()
	granted := map[string][]string{}
	for _, r := range got {
		granted[r.APIGroups[0]+"/"+r.Resources[0]] = r.Verbs
	}
	for _, r := range driver {
		key := r.APIGroups[0] + "/" + r.Resources[0]
		want := r.Verbs
		if key == "/events" {
			want = []string{"create", "patch"} // the verb that reads them is for a terminal
		}
		if slices.Contains([]string{"/pods/portforward", "/pods/log", "/namespaces"}, key) {
			want = nil
		}
		if !slices.Equal(granted[key], want) {
			t.Errorf("%s: %v, want %v", key, granted[key], want)
		}
		delete(granted, key)
	}
	if len(granted) > 0 {
		t.Errorf("no driver needs %v", granted)
	}
}

func wantBound(t *testing.T, ref rbacv1.RoleRef, to []rbacv1.Subject, kind, name string) {
	t.Helper()
	if ref.Kind != kind || ref.Name != name || len(to) != 1 || to[0].Namespace != "ops" || to[0].Name != "kubectl-tidb" {
		t.Errorf("%+v is bound to %+v", ref, to)
	}
}

// TestMonitored: the manifest has no ServiceMonitor by default, since its definition may not be
// installed.
func TestMonitored(t *testing.T) {
	if text, err := printed(t, "v1.2.3", "-A"); err != nil || strings.Contains(text, "monitoring.coreos.com") {
		t.Errorf("%v, and it needs Prometheus Operator:\n%s", err, text)
	}
	text, err := printed(t, "v1.2.3", "-A --service-monitor")
	if err != nil || !strings.Contains(text, "kind: ServiceMonitor") {
		t.Errorf("%v:\n%s", err, text)
	}
	if known := scheme.Scheme.Recognizes(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}); known {
		t.Error("the library knows ServiceMonitors: make one of its type")
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ version, args, says string }{
		{"v1.2.3", "--replicas 0", "at least 1"},
		{"v1.2.3", "--replicas=-1", "at least 1"},
		{"v1.2.3", "--replicas many", "many"},
		{"v1.2.3", "--name Prod", "lower-case"},
		{"v1.2.3", "--name=", "lower-case"},
		{"v1.2.3", "--name " + strings.Repeat("a", 41), "40 characters"},
		{"v1.2.3", "--image a/Upper", "no name of an image"},
		{"v1.2.3", "--image https://registry.example/a:b", "no name of an image"},
		{"v1.2.3", "--image a/b:1:2", "no name of an image"},
		{"v1.2.3", "--image a/b@sha256:12", "no name of an image"},
		{"v1.2.3", "-l a==b=c", "--selector"},
		{"v1.2.3", "-l (", "--selector"},
		{"v1.2.3", "twice", "manifest"},
		{"v1.2.3-4-gabcdef0", "", "--image"},
		{"v1.2.3-dirty", "", "--image"},
		{"devel", "-A", "--image"},
	} {
		out, err := printed(t, c.version, c.args)
		if err == nil || !strings.Contains(err.Error(), c.says) || out != "" {
			t.Errorf("%s %s: %v does not say %q; stdout %q", c.version, c.args, err, c.says, out)
		}
	}
}

func TestImages(t *testing.T) {
	for _, image := range []string{
		"kubectl-tidb", "kubectl-tidb:dev", "a/b:1", "localhost:5000/a:1", "ghcr.io/a/b/c__d:v1.2.3-rc.1",
		"registry.example/a@sha256:" + strings.Repeat("0", 64), "docker.io/library/x:1@sha256:" + strings.Repeat("f", 64),
	} {
		var got options
		cmd := command(func(_ context.Context, o options) error { got = o; return nil })
		cmd.SetArgs([]string{"manifest", "--image", image})
		if err := cmd.Execute(); err != nil || got.image != image {
			t.Errorf("%s: %v", image, err)
		}
	}
	for version, image := range map[string]string{"v1.2.3": ownpod.Repository + ":v1.2.3", "v2.0.0-rc.1": ownpod.Repository + ":v2.0.0-rc.1"} {
		if text, err := printed(t, version, ""); err != nil || !strings.Contains(text, "image: "+image+"\n") {
			t.Errorf("%s: %v:\n%s", version, err, text)
		}
	}
}

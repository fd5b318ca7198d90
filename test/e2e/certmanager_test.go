package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// TestCertManager: cert-manager's controllers issue what the plugin asks for, the cluster is made with it,
// and its members show a renewed certificate without a restart.
func TestCertManager(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-certmanager")
	s.sql.TLS = true
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	const issuer = "cert-manager/" + authority
	step("no cert-manager", func(t *testing.T) {
		if s.knowsCertificates(t) {
			t.Skip("the definitions are installed already")
		}
		r := s.tidb(t, 3, "tls", "init", cluster, "--issuer", issuer)
		if !strings.Contains(r.Stderr, "has no resource certificates of cert-manager.io") {
			t.Errorf("stderr: %s", r.Stderr)
		}
	})
	s.define(t)
	step("nobody issues", func(t *testing.T) {
		r := s.tidb(t, 4, "tls", "init", cluster, "--issuer", issuer, "--timeout", "2s")
		if !strings.Contains(r.Stderr, "cert-manager has not looked at it yet") {
			t.Errorf("stderr: %s", r.Stderr)
		}
	})
	s.startCertManager(t)
	step("no Issuer", s.noIssuer)
	step("create", func(t *testing.T) {
		kubectl(t, issuers, "-n", s.plugin.Namespace, "create", "-f", "-")
		s.tidb(t, 0, "tls", "init", cluster, "--issuer", issuer)
		s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tls", "--pd", "1", "--tikv", "3", "--tidb", "1")
		s.wantMembers(t, map[string]int{"pd": 1, "tikv": 3, "tidb": 1}, release{all: from})
		s.tidb(t, 0, "tls", "check", cluster)
		if secret := s.secret(t, cluster+"-tikv-cluster-secret"); secret.Annotations["cert-manager.io/certificate-name"] != secret.Name {
			t.Errorf("the certificate in use is not of cert-manager: %v", secret.Annotations)
		}
	})
	step("renewed by cert-manager only", func(t *testing.T) {
		r := s.tidb(t, 3, "tls", "rotate", cluster)
		if !strings.Contains(r.Stderr, "renew them with the tool that made them") {
			t.Errorf("stderr: %s", r.Stderr)
		}
	})
	step("a renewed certificate", s.renewed)
}

// authority is the name of an Issuer, and of the Certificate that it issues others with.
const authority = "authority"

// issuers are an authority that signs its own certificate, and the Issuer with that authority.
const issuers = `apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: self-signed}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: ` + authority + `}
spec:
  isCA: true
  commonName: ` + authority + `
  secretName: ` + authority + `
  privateKey: {algorithm: ECDSA, size: 256}
  issuerRef: {name: self-signed, kind: Issuer, group: cert-manager.io}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: ` + authority + `}
spec: {ca: {secretName: ` + authority + `}}
`

// certManager is the module of cert-manager's controllers, which has the definitions too.
var certManager = filepath.Join(repository, "test", "certmanager")

// definitions are those that the controllers use: the plugin uses only the first.
var definitions = []string{"certificates", "certificaterequests", "issuers"}

func (s environment) knowsCertificates(t *testing.T) bool {
	t.Helper()
	return kubectl(t, "", "get", "crd", definitions[0]+".cert-manager.io", "--ignore-not-found", "-o", "name") != ""
}

// define installs cert-manager's definitions, as its module has them. Those that were there before the
// test stay.
func (s environment) define(t *testing.T) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager")
	list.Dir = certManager
	dir, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var files, names []string
	for _, d := range definitions {
		files = append(files, "-f", filepath.Join(strings.TrimSpace(string(dir)), "deploy", "crds", "cert-manager.io_"+d+".yaml"))
		names = append(names, "crd/"+d+".cert-manager.io")
	}
	if !s.knowsCertificates(t) {
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
			defer cancel()
			if _, err := s.Kubectl(ctx, "", append([]string{"delete", "--ignore-not-found"}, names...)...); err != nil {
				t.Error(err)
			}
		})
		kubectl(t, "", append([]string{"create"}, files...)...)
	}
	// "kubectl wait" fails with a definition that has no conditions yet.
	poll(t, patience, "cert-manager's definitions are established", func(ctx context.Context) bool {
		_, err := s.Kubectl(ctx, "", append([]string{"wait", "--for=condition=Established", "--timeout=1m"}, names...)...)
		return err == nil
	})
}

// startCertManager runs cert-manager's controllers for the namespace until the test ends. It fails if they
// end before, and shows what they have logged if the test fails.
func (s environment) startCertManager(t *testing.T) {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(repository, "bin", "cert-manager"))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "-kubeconfig", s.Kubeconfig, "-namespace", s.plugin.Namespace, "-v", "2")
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		t.Fatalf("cert-manager's controllers are not built: run make e2e: %v", err)
	}
	t.Cleanup(func() { // the context of the test has ended before
		if err := cmd.Wait(); !errors.Is(err, context.Canceled) {
			t.Errorf("cert-manager's controllers have ended by themselves, or with an error: %v", err)
		}
		if t.Failed() {
			t.Logf("cert-manager's controllers:\n%s", &log)
		}
	})
}

// certificates are cert-manager's Certificates of the namespace.
func (s environment) certificates() dynamic.ResourceInterface {
	kind := schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: definitions[0]}
	return dynamic.NewForConfigOrDie(s.Config).Resource(kind).Namespace(s.plugin.Namespace)
}

// noIssuer: what "tls init" asks for stays when there is no Issuer yet. The command that it offers shows what
// is missing.
func (s environment) noIssuer(t *testing.T) {
	kubectl(t, "", "-n", s.plugin.Namespace, "wait", "--for=condition=Ready=False", "--timeout=1m", "certificates", "--all")
	r := s.tidb(t, 4, "tls", "init", cluster, "--issuer", "cert-manager/"+authority, "--timeout", "2s")
	const see = "get issuers,certificates,certificaterequests -o wide"
	if !strings.Contains(r.Stderr, "Issuing certificate as Secret does not exist; see why: kubectl "+see) {
		t.Fatalf("stderr: %s", r.Stderr)
	}
	poll(t, patience, "cert-manager says what is missing", func(context.Context) bool {
		return strings.Contains(kubectl(t, "", append(strings.Fields(see), "-n", s.plugin.Namespace)...), `"`+authority+`" not found`)
	})
}

// renewed has all certificates renewed, as "cmctl renew" does, and waits until each member shows its new
// one.
func (s environment) renewed(t *testing.T) {
	const name = cluster + "-tikv-cluster-secret"
	pods, old, revisions := s.podUIDs(t), s.secret(t, name), s.revisions(t)
	for cert := range revisions {
		patch := `[{"op": "add", "path": "/status/conditions/-",
			"value": {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "asked for by a test"}}]`
		_, err := s.certificates().Patch(t.Context(), cert, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}, "status")
		if err != nil {
			t.Fatal(err)
		}
	}
	poll(t, patience, "all certificates are issued again", func(context.Context) bool {
		for cert, revision := range s.revisions(t) {
			if revision <= revisions[cert] {
				return false
			}
		}
		return true
	})
	now := s.secret(t, name)
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if bytes.Equal(now.Data[key], old.Data[key]) {
			t.Fatalf("Secret %s has the %s that it had", name, key)
		}
	}
	turn := 0
	poll(t, patience, "all members show their new certificates", func(context.Context) bool {
		turn++
		s.mountAgain(t, turn)
		return s.current(t) == 5
	})
	s.wantSamePods(t, pods)
	s.wantMembers(t, map[string]int{"pd": 1, "tikv": 3, "tidb": 1}, release{all: from})
}

// revisions are how often each Certificate of the cluster was issued.
func (s environment) revisions(t *testing.T) map[string]int64 {
	t.Helper()
	list, err := s.certificates().List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + cluster})
	if err != nil {
		t.Fatal(err)
	}
	revisions := map[string]int64{}
	for _, cert := range list.Items {
		revisions[cert.GetName()], _, _ = unstructured.NestedInt64(cert.Object, "status", "revision")
	}
	if len(revisions) == 0 {
		t.Fatal("there are no Certificates of the cluster")
	}
	return revisions
}

// current is how many members show the certificate that their Secret has.
func (s environment) current(t *testing.T) int {
	t.Helper()
	var seen struct {
		Members []struct{ Current bool }
	}
	if out := s.tidb(t, 0, "tls", "check", cluster, "-o", "json").Stdout; json.Unmarshal([]byte(out), &seen) != nil {
		t.Fatalf("no JSON: %s", out)
	}
	n := 0
	for _, m := range seen.Members {
		if m.Current {
			n++
		}
	}
	return n
}

// mountAgain has the kubelet look at the Secrets of all pods now, and not within the next minute or two:
// it does so when a pod changes.
func (s environment) mountAgain(t *testing.T, turn int) {
	t.Helper()
	pods := s.Kube.CoreV1().Pods(s.plugin.Namespace)
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"kubectl-tidb-e2e/mounted":"%d"}}}`, turn)
		if _, err := pods.Patch(t.Context(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

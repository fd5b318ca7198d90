package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/certmanager"
)

// TestCertManager: cert-manager's real definition of Certificate takes what the plugin asks for, the
// cluster is made with what is issued for it, and its members show a renewed certificate without a
// restart. The Certificates are issued by a stand-in; see package certmanager.
func TestCertManager(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-certmanager")
	s.sql.TLS = true
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	const issuer = "tests"
	step("no cert-manager", func(t *testing.T) {
		if s.knowsCertificates(t) {
			t.Skip("the definitions are installed already")
		}
		r := s.tidb(t, 3, "tls", "init", cluster, "--issuer", "cert-manager/"+issuer)
		if !strings.Contains(r.Stderr, "has no resource certificates of cert-manager.io") {
			t.Errorf("stderr: %s", r.Stderr)
		}
	})
	s.define(t)
	step("nobody issues", func(t *testing.T) {
		r := s.tidb(t, 4, "tls", "init", cluster, "--issuer", "cert-manager/"+issuer, "--timeout", "2s")
		if !strings.Contains(r.Stderr, "cert-manager has not looked at it yet") {
			t.Errorf("stderr: %s", r.Stderr)
		}
	})
	controller := s.issue(t, issuer)
	step("create", func(t *testing.T) {
		s.tidb(t, 0, "tls", "init", cluster, "--issuer", "cert-manager/"+issuer)
		s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tls", "--pd", "1", "--tikv", "3", "--tidb", "1")
		s.wantMembers(t, map[string]int{"pd": 1, "tikv": 3, "tidb": 1}, release{all: from})
		s.tidb(t, 0, "tls", "check", cluster)
		if secret := s.secret(t, cluster+"-tikv-cluster-secret"); secret.Annotations["cert-manager.io/certificate-name"] == "" {
			t.Errorf("the certificate in use is not of cert-manager: %v", secret.Annotations)
		}
	})
	step("renewed by cert-manager only", func(t *testing.T) {
		r := s.tidb(t, 3, "tls", "rotate", cluster)
		if !strings.Contains(r.Stderr, "others are renewed by whoever made them") {
			t.Errorf("stderr: %s", r.Stderr)
		}
	})
	step("a renewed certificate", func(t *testing.T) { s.renewed(t, controller) })
}

// certificateDefinition is the only definition of cert-manager that the plugin uses.
const certificateDefinition = "certificates.cert-manager.io"

func (s environment) knowsCertificates(t *testing.T) bool {
	t.Helper()
	return kubectl(t, "", "get", "crd", certificateDefinition, "--ignore-not-found", "-o", "name") != ""
}

// define installs cert-manager's definition of Certificate, as its module has it. One that was there
// before the test stays.
func (s environment) define(t *testing.T) {
	t.Helper()
	if !s.knowsCertificates(t) {
		dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager").Output()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
			defer cancel()
			if _, err := s.Kubectl(ctx, "", "delete", "crd", certificateDefinition, "--ignore-not-found"); err != nil {
				t.Error(err)
			}
		})
		kubectl(t, "", "create", "-f", filepath.Join(strings.TrimSpace(string(dir)), "deploy", "crds", "cert-manager.io_certificates.yaml"))
	}
	kubectl(t, "", "wait", "--for=condition=Established", "crd/"+certificateDefinition, "--timeout=1m")
}

// issue has Certificates that name the issuer issued until the test ends.
func (s environment) issue(t *testing.T, issuer string) *certmanager.Controller {
	t.Helper()
	client, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	controller, err := certmanager.New(client, s.Kube, s.plugin.Namespace, issuer)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { controller.Run(ctx, func(err error) { t.Log("cert-manager's stand-in:", err) }) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return controller
}

// renewed has all certificates renewed, and waits until each member shows its new one.
func (s environment) renewed(t *testing.T, controller *certmanager.Controller) {
	const name = cluster + "-tikv-cluster-secret"
	pods, old := s.podIdentities(t), s.secret(t, name).Data[corev1.TLSCertKey]
	if err := controller.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	poll(t, patience, "no certificate to be issued", func(ctx context.Context) bool {
		idle, err := controller.Idle(ctx)
		return err == nil && idle
	})
	if bytes.Equal(s.secret(t, name).Data[corev1.TLSCertKey], old) {
		t.Fatalf("Secret %s has the certificate that it had", name)
	}
	turn := 0
	poll(t, patience, "all members show their new certificates", func(context.Context) bool {
		turn++
		s.mountAgain(t, turn)
		var seen struct {
			Members []struct{ Current bool }
		}
		if out := s.tidb(t, 0, "tls", "check", cluster, "-o", "json").Stdout; json.Unmarshal([]byte(out), &seen) != nil {
			t.Fatalf("no JSON: %s", out)
		}
		current := 0
		for _, m := range seen.Members {
			if m.Current {
				current++
			}
		}
		return current == 5
	})
	if now := s.podIdentities(t); now != pods {
		t.Errorf("pods were %s and are %s", pods, now)
	}
	s.wantMembers(t, map[string]int{"pd": 1, "tikv": 3, "tidb": 1}, release{all: from})
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

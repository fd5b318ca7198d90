// Package e2e runs the built plugin against a real Kubernetes node with a real
// PD, a multi-raft store that speaks TiKV's protocol, and TiDB.
package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/node"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/plugin"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

const (
	namespace = "e2e"
	cluster   = "basic"
	from, to  = "v8.1.0", "v8.1.1"
)

// shared is the environment of tests that use one namespace.
var shared environment

func TestMain(m *testing.M) {
	ctx := context.Background()
	err := setUp(ctx)
	if errors.Is(err, node.ErrNone) {
		fmt.Println("SKIPPED: all end-to-end tests:", err)
		return
	}
	if err != nil {
		fmt.Println("set up:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := shared.clear(ctx); err != nil && code == 0 {
		fmt.Println("tidy up:", err)
		code = 1
	}
	os.Exit(code)
}

func setUp(ctx context.Context) error {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	if shared.Node, err = node.Up(ctx, root, os.Stdout); err != nil {
		return err
	}
	binary := filepath.Join(root, "bin", "kubectl-tidb")
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("the plugin is not built: run make e2e: %w", err)
	}
	if shared.pods, err = dial.NewPods(shared.Config); err != nil {
		return err
	}
	shared.plugin = plugin.Plugin{Binary: binary, Kubeconfig: shared.Kubeconfig, Namespace: namespace}
	shared.sql = workload.Service{Kube: shared.Kube, Pods: shared.pods, Namespace: namespace, Cluster: cluster}
	if err := shared.clear(ctx); err != nil {
		return fmt.Errorf("delete what an earlier run has left: %w", err)
	}
	return shared.make(ctx)
}

// tidb runs the plugin and wants it to end with a code.
func (s environment) tidb(t *testing.T, code int, args ...string) plugin.Result {
	t.Helper()
	r := s.plugin.Run(t.Context(), nil, args...)
	t.Logf("kubectl tidb %v: exit %d after %v", args, r.Code, r.Took.Round(10*time.Millisecond))
	s.slow.note(args, r)
	s.failed.note(args, code, r, r.Stdout)
	if r.Code != code {
		t.Fatalf("kubectl tidb %v: exit code %d, want %d\nstdout: %s\nstderr: %s", args, r.Code, code, r.Stdout, r.Stderr)
	}
	return r
}

// status is what "status -o json" prints, as far as tests look at it.
type status struct {
	Outcome string
	Members []struct {
		Component, Name, Version, Trouble string
		Up, Updated                       bool
	}
	Evictions []struct{ StoreID uint64 }
}

func (s environment) look(t *testing.T) status {
	t.Helper()
	var seen status
	out := s.tidb(t, 0, "status", cluster, "-o", "json").Stdout
	if err := json.Unmarshal([]byte(out), &seen); err != nil {
		t.Fatalf("status is no JSON: %v\n%s", err, out)
	}
	return seen
}

// pdForgets is longer than a new leader of PD waits for a heartbeat of a store that serves.
const pdForgets = 15 * time.Second

// wantConverged asserts that the cluster has converged by all accounts: the
// plugin's, Kubernetes' and PD's.
func (s environment) wantConverged(t *testing.T, pdMembers, stores, servers int, version string) {
	t.Helper()
	s.wantMembers(t, map[string]int{"pd": pdMembers, "tikv": stores, "tidb": servers}, release{all: version})
	s.wantCleanPD(t, pdMembers, stores)
	if t.Failed() {
		s.logState(t)
	}
}

// release is what the members of a cluster run: one version, but for components with releases of their own.
type release struct {
	all string
	own map[string]string
}

func (r release) of(component string) string {
	if own := r.own[component]; own != "" {
		return own
	}
	return r.all
}

// wantMembers asserts that the cluster has converged with these members and no others, by the plugin's and Kubernetes'
// accounts.
func (s environment) wantMembers(t *testing.T, want map[string]int, r release) {
	t.Helper()
	got := s.look(t)
	// A status is one reading. If PD has changed its leader since the run ended, it misses heartbeats
	// of stores that serve, and the status says that it is not known.
	for end := time.Now().Add(pdForgets); got.Outcome != "converged" && time.Now().Before(end); got = s.look(t) {
		t.Logf("status: outcome %q: %+v", got.Outcome, got.Members)
	}
	if got.Outcome != "converged" {
		t.Errorf("status: outcome %q, want converged", got.Outcome)
	}
	up := map[string]int{}
	for _, m := range got.Members {
		if m.Up && m.Updated {
			up[m.Component]++
		}
	}
	pods := 0
	for component, n := range want {
		if pods += n; up[component] != n {
			t.Errorf("%s: %d members up and updated, want %d", component, up[component], n)
		}
	}
	s.wantImages(t, pods, r)
}

func (s environment) wantImages(t *testing.T, pods int, r release) {
	t.Helper()
	list, err := s.Kube.CoreV1().Pods(s.plugin.Namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/instance=" + cluster,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != pods {
		t.Errorf("%d pods, want %d", len(list.Items), pods)
	}
	for _, p := range list.Items {
		component := p.Labels["app.kubernetes.io/component"]
		for _, c := range p.Spec.Containers {
			if want := "pingcap/" + component + ":" + r.of(component); c.Name == component && c.Image != want {
				t.Errorf("pod %s runs %s, want %s", p.Name, c.Image, want)
			}
		}
	}
}

// wantCleanPD asks PD itself, not the plugin.
func (s environment) wantCleanPD(t *testing.T, members, stores int) {
	t.Helper()
	client := s.pdClient()
	defer client.Close()
	got, err := client.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Members) != members {
		t.Errorf("PD has %d members, want %d", len(got.Members), members)
	}
	up, err := client.Stores(t.Context(), pd.StoreUp, pd.StoreOffline)
	if err != nil {
		t.Fatal(err)
	}
	if len(up) != stores {
		t.Errorf("PD has %d stores, want %d", len(up), stores)
	}
	s.wantNoSchedulers(t)
	ledger, err := s.Kube.CoreV1().ConfigMaps(s.plugin.Namespace).Get(t.Context(), cluster+"-ledger", metav1.GetOptions{})
	if err != nil {
		return
	}
	for key, record := range ledger.Data {
		if !strings.HasPrefix(key, "template.") { // which stays for as long as the StatefulSet
			t.Errorf("the ledger still has %s: %s", key, record)
		}
	}
}

func (s environment) pdClient() pd.Client {
	cfg, scheme := pd.Config{Dial: s.pods.DialContext}, "http"
	if s.sql.TLS {
		cfg.TLS, scheme = s.clientTLS(), "https"
	}
	for n := range 3 {
		cfg.URLs = append(cfg.URLs, fmt.Sprintf("%s://%s-pd-%d.%s-pd-peer.%s.svc:2379", scheme, cluster, n, cluster, s.plugin.Namespace))
	}
	return pd.New(cfg)
}

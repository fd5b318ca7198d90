package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPartInNamespace: stores of a part in another namespace, with TLS, join the PD of a cluster. The cluster with PD stays
// as long as the part is there. The part restarts, and leaves when its stores are empty.
func TestPartInNamespace(t *testing.T) {
	t.Parallel()
	s, other := newEnvironment(t, "e2e-parts-tls"), newEnvironment(t, "e2e-parts-tls-more")
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	step("certificates of a part come after those of PD", func(t *testing.T) {
		r := other.tidb(t, 3, "tls", "init", part, "--part-of", "e2e-parts-tls/"+cluster)
		if !strings.Contains(r.Stderr, "kubectl tidb tls init "+cluster+" -n e2e-parts-tls") {
			t.Errorf("%s", r.Stderr)
		}
	})
	step("both are created", func(t *testing.T) {
		s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tls", "--pd", "1", "--tikv", "3", "--tidb", "1")
		other.tidb(t, 0, "tls", "init", part, "--part-of", "e2e-parts-tls/"+cluster)
		file := filepath.Join(t.TempDir(), part+".yaml")
		text := strings.Replace(manifest("  tlsCluster: {enabled: true}\n"+
			"  cluster: {name: "+cluster+", namespace: e2e-parts-tls}\n"+
			"  tikv: {baseImage: pingcap/tikv, replicas: 2, requests: {storage: 1Gi}, config: {}}"), "metadata: {name: basic}", "metadata: {name: "+part+"}", 1)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		other.tidb(t, 0, "apply", "-f", file)
	})
	step("the cluster with PD stays", func(t *testing.T) {
		if r := s.tidb(t, 3, "delete", cluster, "--yes"); !strings.Contains(r.Stderr, "PD lists members of clusters that stay: more-tikv-0.") {
			t.Errorf("%s", r.Stderr)
		}
		if r := s.tidb(t, 3, "tls", "rotate", cluster, "--ca", "--yes"); !strings.Contains(r.Stderr, "PD lists members of other clusters") {
			t.Errorf("%s", r.Stderr)
		}
		if r := other.tidb(t, 3, "tls", "rotate", part); !strings.Contains(r.Stderr, "kubectl-tidb/parts-in=e2e-parts-tls-more -n e2e-parts-tls") {
			t.Errorf("%s", r.Stderr)
		}
		kubectl(t, "", "-n", "e2e-parts-tls", "annotate", "tidbcluster", cluster, "kubectl-tidb/parts-in=e2e-parts-tls-more")
		if r := s.tidb(t, 3, "delete", cluster, "--yes"); !strings.Contains(r.Stderr, "use its PD") {
			t.Errorf("%s", r.Stderr)
		}
		if r := s.tidb(t, 3, "tls", "rotate", cluster, "--ca", "--yes"); !strings.Contains(r.Stderr, "cluster e2e-parts-tls-more/more is a part of the same database") {
			t.Errorf("%s", r.Stderr)
		}
	})
	step("the part has new certificates", func(t *testing.T) { other.tidb(t, 0, "tls", "rotate", part) })
	step("the part restarts", func(t *testing.T) { other.tidb(t, 0, "restart", part, "tikv", "--yes") })
	step("the part leaves", func(t *testing.T) {
		other.tidb(t, 0, "scale", part, "tikv=0", "--yes")
		other.tidb(t, 0, "delete", part, "--yes")
	})
}

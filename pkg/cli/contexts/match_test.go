package contexts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

func TestMatch(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, []byte("CA"), 0o600); err != nil {
		t.Fatal(err)
	}
	raw := clientcmdapi.Config{Contexts: map[string]*clientcmdapi.Context{}, Clusters: map[string]*clientcmdapi.Cluster{
		"a":      {Server: "https://a"},
		"b":      {Server: "https://b", CertificateAuthorityData: []byte("CA")},
		"b-file": {Server: "https://b/", CertificateAuthority: ca},
		"b-ca2":  {Server: "https://b", CertificateAuthorityData: []byte("CA2")},
		"b-sni":  {Server: "https://b", CertificateAuthorityData: []byte("CA"), TLSServerName: "b2"},
	}}
	for name, cluster := range map[string]string{
		"prod-a": "a", "prod-b": "b", "test-b": "b-file", "ca2-b": "b-ca2", "sni-b": "b-sni", "gone": "none", "[x]": "none", "arn:aws:eks:eu:1:cluster/main": "none",
	} {
		raw.Contexts[name] = &clientcmdapi.Context{Cluster: cluster}
	}
	for patterns, want := range map[string]string{
		"prod-*":            "prod-a prod-b",
		"prod-b prod-a":     "prod-a prod-b",
		"prod-? prod-b":     "prod-a prod-b",
		"arn:* gone":        "arn:aws:eks:eu:1:cluster/main gone",
		"*cluster/m*":       "arn:aws:eks:eu:1:cluster/main",
		"[x]":               "[x]",
		"prod-b ca2-b":      "ca2-b prod-b",
		"prod-b sni-b":      "prod-b sni-b",
		"prod-b test-b":     "!contexts prod-b and test-b are of the same Kubernetes cluster",
		"*-b":               "!contexts prod-b and test-b are of the same Kubernetes cluster",
		"prod-* sni-*":      "prod-a prod-b sni-b",
		"staging":           `!no context "staging"; it has [x], arn:`,
		"prod-a staging-?x": `!no context "staging-?x"`,
		"[":                 `!"[" is not a pattern`,
	} {
		got, err := match(raw, strings.Fields(patterns))
		if says, wrong := strings.CutPrefix(want, "!"); wrong {
			if exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want %q", patterns, err, says)
			}
			continue
		}
		if err != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %v, %v; want %s", patterns, got, err, want)
		}
	}
	if _, err := match(clientcmdapi.Config{}, []string{"*"}); exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), "has no contexts") {
		t.Errorf("no kubeconfig: %v", err)
	}
}
